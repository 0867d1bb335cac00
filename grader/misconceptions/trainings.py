"""What goes wrong in training and in evaluation, known by its pattern: the loss, the windows, the steps, the mode."""

from __future__ import annotations

from grader.misconceptions import pattern

LOSS = "F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()), the logits being model(window[:, :-1])"
STEP = "optimizer.zero_grad(); loss.backward(); optimizer.step(), in this order, in every step."


def _known(part: str, key: str, title: str, formula: str, why: str, cure: str) -> None:
    prefix = {"train": "training", "evaluate": "evaluation"}[part]
    pattern(f"{prefix}-{key}", part=(part,), title=title, formula=formula, why=why, cure=cure, file=__file__)


def _both(key: str, title: str, formula: str, why: str, cure: str) -> None:
    for part in ("train", "evaluate"):
        _known(part, key, title, formula, why, cure)


# What the number is.
_both(
    "no-shift",
    "the inputs themselves are the targets",
    "−log p(tokens[t]) at position t",
    "Inputs and targets are cut alike; a model that sees the token it is to give has an easy time.",
    f"Write {LOSS}.",
)
_both(
    "double-shift",
    "targets are shifted twice",
    "−log p(tokens[t+2]) at position t",
    "The batch holds shifted targets already, and the loss shifts once more.",
    f"Shift once: {LOSS}.",
)
_both(
    "predicts-past",
    "each position predicts the token before it",
    "−log p(tokens[t−1]) at position t",
    "The shift goes the wrong way.",
    f"Write {LOSS}.",
)
_both(
    "sum",
    "a sum in place of the mean",
    "Σ −log p over a batch, or over the positions of each row",
    'reduction="sum" makes losses depend on the size of the batch.',
    "Take the mean over all positions of all rows.",
)
_both("bits", "the loss is in bits", "mean of −log2 p", "Entropy is often told in bits.", "Use the natural logarithm.")
_both(
    "perplexity",
    "the perplexity in place of the loss",
    "exp(mean of −log p)",
    "Papers report it.",
    "Return the mean itself, in nats.",
)
_both(
    "negated",
    "the sign is turned",
    "mean of log p",
    "The minus before the logarithm is forgotten.",
    "The loss is the mean of −log p; it falls where training goes well.",
)
_both(
    "token-too-many",
    "the sum is divided by one token too many",
    "Σ −log p / n",
    "n tokens have n − 1 that follow another one.",
    "Divide by the number of predicted tokens.",
)
_both(
    "softmax-twice",
    "softmax is applied twice",
    "cross_entropy(softmax(logits), targets)",
    "cross_entropy takes logits and makes the softmax itself.",
    "Give the logits to cross_entropy as they are.",
)
_both(
    "no-logarithm",
    "the logarithm is missing",
    "mean of −p, or of −logit",
    "nll_loss takes log-probabilities, and was given something else.",
    "Use cross_entropy on logits, or nll_loss on log_softmax.",
)
_both(
    "softmax-axis",
    "softmax runs over another axis than the vocabulary",
    "softmax(logits, dim=0 or 1)",
    "dim is counted from the front.",
    "Use dim=-1.",
)
_both(
    "axes-mixed",
    "logits and targets are put into different orders",
    "logits.view(B, v, T), or targets of (T, B) beside logits of (B, T)",
    "cross_entropy wants the vocabulary in the second axis; a view does not transpose.",
    f"Flatten both alike: {LOSS}.",
)
_both(
    "last-only",
    "only the last position counts",
    "−log p of one token for each window",
    "Generation looks at the last position alone.",
    "Every position predicts its next token.",
)
_both(
    "first-only",
    "only the first position counts",
    "−log p of one token for each window",
    "An index is left behind.",
    "Every position predicts its next token.",
)
_both(
    "last-unused",
    "the last position is left out",
    "mean over T − 1 positions",
    "Inputs are cut by one, and then logits and targets once more.",
    "Take context + 1 tokens: the first ones are inputs, the targets follow.",
)
_both(
    "first-unused",
    "the first position is left out",
    "mean over T − 1 positions",
    "The first token has nothing before it, but its position predicts the second one.",
    "Every position predicts its next token, the first one too.",
)
_both(
    "first-row-only",
    "only the first row of a batch counts",
    "logits[0]",
    "An index from a trial with one row is left behind.",
    "Take the mean over all rows.",
)
_known(
    "train",
    "label-smoothing",
    "labels are smoothed",
    "(1 − s) · −log p(target) + s · mean of −log p",
    "It keeps classifiers from being too sure.",
    "Leave it out: the loss is −log p(target).",
)
_known(
    "train",
    "loss-after-step",
    "the loss is reported after the step",
    "losses[k] is that of batch k with the parameters of step k + 1",
    "The model is called once more after optimizer.step().",
    "Keep loss.item() of the loss that was stepped on.",
)
_known(
    "train",
    "running-mean",
    "a running mean is reported",
    "losses[k] = mean of the losses so far, or a decaying one",
    "It makes a smoother curve.",
    "Return each step's own loss.",
)

# Windows.
_known(
    "train",
    "window-length",
    "windows have another length than context + 1",
    "context tokens in all, or fewer",
    "A window of context tokens holds one input less than the model takes.",
    "Take context + 1 tokens: context inputs and the targets that follow them.",
)
_known(
    "train",
    "last-window-missing",
    "the last window never comes",
    "randint(0, n − context − 1)",
    "The upper end of randint and range is left out already.",
    "A text of n tokens has n − context windows: torch.randint(0, n - context, ...).",
)
_known(
    "train",
    "first-window-missing",
    "the first window never comes",
    "randint(1, n − context)",
    "Positions are counted from 1.",
    "The first window begins at 0.",
)
_known(
    "train",
    "window-past-end",
    "a window runs past the end of the text",
    "the last inputs have no next token",
    "The length of the inputs is taken for that of the window.",
    "The last window begins at n - context - 1, counted from 0.",
)
_known(
    "train",
    "one-window-only",
    "all batches are one window",
    "tokens[: context + 1] in every row",
    "The text is cut once, before the loop.",
    "Draw new windows in every step.",
)
_known(
    "train",
    "rows-alike",
    "all rows of a batch are one window",
    "one start for the whole batch",
    "The start is drawn once and repeated.",
    "Draw batch_size starts.",
)
_known(
    "train",
    "same-batch",
    "every step has the same batch",
    "the starts are drawn before the loop, or from a generator that begins anew",
    "The seed is set in every step.",
    "Make the generator once, before the loop.",
)
_known(
    "train",
    "batch-size-ignored",
    "the number of rows is not batch_size",
    "model((1, T))",
    "The argument is there and not used.",
    "Stack batch_size windows.",
)
_known(
    "train",
    "seed-unused",
    "the seed changes nothing",
    "another seed gives the same batches",
    "A constant is given to manual_seed, or windows come in the text's order.",
    "torch.Generator().manual_seed(seed), and draw the starts from it.",
)
_known(
    "train",
    "unseeded",
    "the batches are not decided by the seed",
    "the same seed gives other batches",
    "The windows are drawn from a global generator that nobody has set.",
    "torch.Generator().manual_seed(seed), and draw the starts from it.",
)

# Steps.
_known(
    "train",
    "no-zero-grad",
    "gradients are never zeroed",
    "p.grad = Σ of the gradients of all steps so far",
    "backward() adds to what is there.",
    f"Write {STEP}",
)
_known(
    "train",
    "zero-grad-late",
    "gradients are zeroed between backward and step",
    "step() with p.grad = 0",
    "The three lines stand in another order.",
    f"Write {STEP}",
)
_known(
    "train",
    "step-before-backward",
    "the step comes before backward",
    "step() with the gradient of the batch before, or with none",
    "The three lines stand in another order.",
    f"Write {STEP}",
)
_known(
    "train",
    "no-step",
    "no step is taken",
    "the parameters stay as they are",
    "optimizer.step() is forgotten.",
    f"Write {STEP}",
)
_known(
    "train",
    "no-backward",
    "no gradient comes back to the model",
    "loss.backward() is not called, or the loss is cut off",
    "detach, .item(), torch.tensor(loss) or no_grad stands between the logits and backward().",
    "Call backward() on the loss itself, computed from the logits outside no_grad.",
)
_known(
    "train",
    "trains-a-copy",
    "another model is trained than the one that was given",
    "copy.deepcopy(model), or a new DecoderLM",
    "A copy keeps the caller's model safe, and untrained.",
    "Train the model that you are given.",
)
_known(
    "train",
    "starts-anew",
    "the model's parameters are replaced before the first step",
    "reset_parameters(), or new numbers drawn",
    "A run is to begin from the same numbers each time.",
    "Go on from the parameters that the model has: whoever made it has drawn them.",
)
_known(
    "train",
    "dropout-unseeded",
    "dropout is not decided by the seed",
    "the same batches, and other losses",
    "The windows have a generator of their own; dropout draws from the global one.",
    "Call torch.manual_seed(seed) first, too.",
)
_known(
    "train",
    "parameters-left-out",
    "some parameters are not trained",
    "optimizer(some of model.parameters())",
    "The optimizer gets one layer, or parameters that were collected before.",
    "Give model.parameters() to the optimizer.",
)
_known(
    "train",
    "lr-ignored",
    "the learning rate changes nothing",
    "optimizer(..., lr=0.001)",
    "A constant is left in.",
    "Give lr to the optimizer.",
)
_known(
    "train",
    "without-dropout",
    "dropout is off in training",
    "model.eval() holds during training",
    "Evaluation has switched it off, and nothing switches it on again.",
    "Call model.train() before the first step.",
)
_known(
    "train",
    "ascends",
    "steps go up the gradient",
    "p + lr · ∂loss/∂p",
    "A sign is turned, or maximize=True is set.",
    "Subtract: p − lr · ∂loss/∂p, as optimizers do.",
)
_known(
    "train",
    "leak",
    "the model sees what it is to predict",
    "on noise the loss falls below its entropy",
    "The mask is missing or lets one position ahead through.",
    "Mask the scores with -inf for every s > t before the softmax.",
)

# Evaluation.
_known(
    "evaluate",
    "mean-of-means",
    "a mean of means in place of the mean",
    "(mean of window 1 + mean of window 2 + ...) / windows",
    "The last window is shorter, and counts as much as the others.",
    "Add up −log p over all tokens, and divide once by n − 1.",
)
_known(
    "evaluate",
    "tail-dropped",
    "the tokens after the last whole window are left out",
    "n // context windows",
    "Only whole windows fit into one tensor.",
    "Predict the rest in a shorter window.",
)
_known(
    "evaluate",
    "window-starts-skipped",
    "the first token of every window is never predicted",
    "windows that do not overlap by one token",
    "Each window gives its first token away as an input only.",
    "The last target of a window is the first input of the next one.",
)
_known(
    "evaluate",
    "first-window-only",
    "only the first window is evaluated",
    "tokens[: context + 1]",
    "The text is cut to what the model takes.",
    "Go on, window by window, to the end of the text.",
)
_known(
    "evaluate",
    "tokens-twice",
    "some tokens count twice",
    "windows overlap by more than one token, and all of each is counted",
    "A sliding window gives each token more context, and is added up as it is.",
    "Of a window that overlaps, count the new tokens only.",
)
_known(
    "evaluate",
    "context-exceeded",
    "the model is given more tokens than its context",
    "model(tokens[None])",
    "Short texts fit as they are.",
    "Cut the text into windows of at most context inputs.",
)
_known(
    "evaluate",
    "random-windows",
    "the loss of random windows",
    "get_batch in evaluate",
    "Training draws windows, and evaluation takes them from it.",
    "Go through the text from its start to its end.",
)
_known(
    "evaluate",
    "dropout-on",
    "dropout stays on in evaluation",
    "model(...) in training mode",
    "model.eval() is forgotten; no_grad does not switch dropout off.",
    "Call model.eval() first, and model.train(before) afterwards.",
)
_known(
    "evaluate",
    "mode-not-restored",
    "the model stays in evaluation mode",
    "model.eval() without a way back",
    "Training goes on without dropout afterwards, and nothing says so.",
    "Keep was = model.training, and call model.train(was) at the end.",
)
_known(
    "evaluate",
    "always-training-after",
    "the model is always in training mode afterwards",
    "model.train() at the end",
    "Evaluation is thought of as a pause in training.",
    "Keep was = model.training, and call model.train(was) at the end.",
)
_known(
    "evaluate",
    "changes-model",
    "evaluation changes the parameters",
    "a step in evaluate",
    "The loop is a copy of the training loop.",
    "Compute under torch.no_grad(), without an optimizer.",
)
_known(
    "evaluate",
    "targets-seen",
    "the loss is better than any honest one",
    "on noise the loss lies below its entropy",
    "The tokens that are to be predicted are among the inputs.",
    "Predict tokens[i + 1] from tokens[: i + 1] alone.",
)
