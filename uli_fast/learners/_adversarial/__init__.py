"""What adversarial bases and the learners made of them share."""
