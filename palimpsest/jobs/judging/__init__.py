"""Language models as judges: prompts, the frame around hostile text, batches, and what of an answer counts."""
