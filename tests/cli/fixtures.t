requires: fixtures
The public golden files: shares that an emulator must reach.

fp8/moe: 99.8 % under dequant, on whatever path it is named; other recipes differ.

  $ echo "--target gaudi2 --weights-stage loaded --top-k 8 --num-experts 128 --replicate-expert" > options
  $ fp8moe verify fixtures/fp8/moe.safetensors --recipe dequant $(cat options) --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.identical_share dumps.0.tensors.0.classes; validate report.json
  same
  0.998046875
  {"identical": 261632, "different": 512, "nonfinite_differs": 0}
  report.json: fp8moe.report/1: valid
  $ fp8moe verify fixtures/fp8/moe.safetensors --recipe gather $(cat options) -o report.txt
  [1]
  $ fp8moe verify fixtures/fp8/moe.safetensors --recipe stock $(cat options) -o report.txt
  [1]
  $ fp8moe verify fixtures/fp8/moe.safetensors --recipe dequant --no-renormalize $(cat options) -o report.txt
  [1]
  $ fp8moe verify fixtures/fp8/moe.safetensors --recipe auto $(cat options) --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.recipe dumps.0.tensors.0.candidates.1.recipe
  same
  dequant
  stock-hp

The linears: 100 %, padding apart.

  $ fp8moe verify --op linear --target ocp --weights-stage checkpoint fixtures/fp8/linear.safetensors --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.recipe dumps.0.tensors.0.identical_share
  same
  dequant-linear
  1
  $ fp8moe verify --op linear --target ocp --weights-stage checkpoint fixtures/compressed_tensors/linear_w8a8fp8.safetensors --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.recipe dumps.0.tensors.0.identical_share
  same
  w8a16-linear
  1
  $ fp8moe verify --op linear --target gaudi2 --weights-stage loaded --recipe static-linear fixtures/gaudi/linear_w8a8fp8_static_per_channel.safetensors --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.identical_share dumps.0.tensors.0.classes.identical dumps.0.tensors.0.padding
  same
  1
  40
  472

fused_moe/unquantized: 99.6 % under bf16, without a target.

  $ fp8moe verify --recipe bf16 --top-k 8 --num-experts 128 --replicate-expert fixtures/fused_moe/unquantized.safetensors --format json -o report.json
  $ query report.json dumps.0.tensors.0.classes dumps.0.settings.target
  {"identical": 11218, "different": 46, "nonfinite_differs": 0}
  {"value": null, "source": null}

The Gaudi2 capture: 349 of 512 end to end, all when the two codes are moved by the one silu step that explains them.

  $ echo "--recipe static-moe --target gaudi2 --weights-stage loaded --top-k 1 --num-experts 1" > options
  $ fp8moe verify $(cat options) fixtures/gaudi/moe_w8a8fp8_static_per_tensor.safetensors --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.classes
  same
  {"identical": 349, "different": 163, "nonfinite_differs": 0}
  $ fp8moe run $(cat options) fixtures/gaudi/moe_w8a8fp8_static_per_tensor.safetensors --stages -o stages.safetensors > /dev/null
  $ join_dumps fixtures/gaudi/moe_w8a8fp8_static_per_tensor.safetensors stages.safetensors both.safetensors act_codes
  $ edit_dump both.safetensors moved.safetensors 'set:act_codes[37]=9c' 'set:act_codes[118]=82'
  $ fp8moe compare both.safetensors:act_codes moved.safetensors | grep -A 2 worst
      worst               row   column       expected         dumped   bf16    FP8  codes
                            0       37     -0.0859375       -0.09375     16      1  DE DF
                            0      118   -0.001953125    -0.00390625    128      8  B2 BA
  $ fp8moe verify $(cat options) moved.safetensors --from act_codes --format json -o report.json
  $ query report.json verdict dumps.0.tensors.0.classes dumps.0.stages_from_dump
  same
  {"identical": 512, "different": 0, "nonfinite_differs": 0}
  ["act_codes"]
