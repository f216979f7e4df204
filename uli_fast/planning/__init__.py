"""What a trial would be like, before it begins: by simulation, and beside the usual trial."""
