"""How classes, modules, tokenizers and language models are asked, and what their answers tell; checks draw on it."""
