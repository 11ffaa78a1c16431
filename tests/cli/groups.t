requires: fixtures

One layer over many files: grouped by name, a folder like a list.

  $ fp8moe verify fixtures/pt/linear_* --op linear --target ocp --weights-stage checkpoint | head -n 1
  same: output is the same as recipe w8a16-linear (evidence: fixture): every row is identical
  $ fp8moe verify fixtures/pt/fused_moe_* --recipe bf16 --top-k 8 --num-experts 128 --replicate-expert --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.identical_share dumps.0.tensors.0.judgement.rows
  same
  0.9959161931818182
  {"asked": 22, "equal": 2, "identical": 16, "explained": 2, "noise": 0}
  $ validate report.json
  report.json: fp8moe.report/1: valid
  $ mkdir layer && cp fixtures/pt/fused_moe_* layer && echo notes > layer/readme.txt
  $ fp8moe verify layer --recipe bf16 --top-k 8 --num-experts 128 --replicate-expert | grep -E '^same|note'
  same: output is the same as recipe bf16 (evidence: fixture): every row is identical, expected or
    note           weights_stage loaded was inferred from the weights
  $ fp8moe verify layer fixtures/pt/linear_* missing.pt --top-k 8 --num-experts 128 --replicate-expert --target ocp --weights-stage loaded | grep -E '^[a-z]+:|: same$'
  fp8moe: missing.pt: cannot open: no such file or folder (errno 2)
  error: missing.pt: cannot open: no such file or folder (errno 2)
  layer/fused_moe*: same
    output [22, 512] BF16: same
  fixtures/pt/linear_w8a8fp8*: same
    output [6, 256] BF16: same
  $ mkdir empty && fp8moe verify empty
  fp8moe: empty: this folder holds no tensor file
  [3]
  $ mkdir model && echo '{}' > model/config.json && fp8moe verify model
  fp8moe: model is a model folder: give it to --weights, and the dump as argument
  [2]
  $ fp8moe run layer --recipe bf16 --top-k 8 --num-experts 128 --replicate-expert -o out.safetensors | head -n 1
  out.safetensors: written under recipe bf16
  $ fp8moe lint layer
  layer/fused_moe*: 1 finding
    equal-row      hidden_states: 2 token rows equal an earlier one: they test nothing more, the first
                   at [12, 0]
  [1]
  $ cd layer && fp8moe init . -o case.yaml && cat case.yaml
  # A case file of fp8moe: run it with `fp8moe verify FILE`. Keys before `layers` hold for all of them.
  # Anything the command line takes may stand here, with _ for -.
  layers:
    - title: layer 0
      files:
        - "./fused_moe_input_hidden_states.pt"
        - "./fused_moe_input_router_logits.pt"
        - "./fused_moe_output.pt"
        - "./fused_moe_w13_weight.pt"
        - "./fused_moe_w2_weight.pt"
      # outputs to judge: output
      # target:  # gaudi2, gaudi3 or ocp: which device computed this
      # recipe:  # see 'fp8moe recipes'; left out, the output's name or every row that fits decides
      # weights_stage:  # checkpoint, loaded or prepared
      op: moe  # inferred
      expect: same
