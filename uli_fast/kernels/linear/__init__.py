"""Parts of sharp PE-linear: the mixture and its boundary, designs, blocks and looks."""
