"""Which names of torch, and which packages, are transformer modules that others have written."""

import re

PACKAGES = frozenset(
    """transformers x_transformers xformers flash_attn flash_attention torchtune fairseq fairseq2 nanogpt mingpt minGPT
    timm litgpt lit_gpt transformer_lens torchscale sentence_transformers pytorch_transformers
    pytorch_pretrained_bert adapters adapter_transformers allennlp megatron deepspeed vit_pytorch performer_pytorch
    linear_attention_transformer reformer_pytorch routing_transformer local_attention memory_efficient_attention_pytorch
    fast_transformers simpletransformers keras keras_nlp keras_hub tensorflow flax trl peft vllm gpt_neox rwkv opennmt
    onmt tensor2tensor curated_transformers spacy_transformers torchmultimodal""".split()  # noqa: SIM905
)
NAMES = re.compile(
    r"_*("
    r"MultiheadAttention|Transformer|Transformer(En|De)coder(Layer)?|multi_head_attention_forward|"
    r"scaled_dot_product\w*|\w*flash_attention\w*|\w*efficient_attention\w*|native_multi_head_attention\w*|"
    r"triton_multi_head_attention|triton_scaled_dot_attention|transformer_encoder_layer_fwd|"
    r"transformer_decoder_only_layer_fwd|native_decoder_only_multi_head_attention|flex_attention\w*|sdpa_kernel"
    r")"
)
FOLDERS = (
    "torch.nn.attention",
    "torch.nn.modules.transformer",
    "torchvision.models.vision_transformer",
    "torchvision.models.swin_transformer",
    "torchtext.models",
    "torchtext.nn",
    "torchaudio.models",
)


def forbidden(dotted: str, local: frozenset[str] = frozenset()) -> bool:
    """Whether a dotted name is one of them; ``local`` are the submission's own modules."""
    top, *rest = dotted.split(".")
    if top in local:
        return False
    if top in PACKAGES or any(dotted == folder or dotted.startswith(folder + ".") for folder in FOLDERS):
        return True
    return top == "torch" and any(map(NAMES.fullmatch, rest))
