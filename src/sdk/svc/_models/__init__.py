"""Language models, asked over OpenAI's protocol."""
