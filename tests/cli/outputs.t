Every output is judged; custom stands for gather, stock for stock, unless an option or the metadata says otherwise.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o b.safetensors > /dev/null
  $ edit_dump a.safetensors c.safetensors rename:output=custom unmeta:recipe
  $ fp8moe verify c.safetensors | head -n 1
  $ edit_dump c.safetensors d.safetensors copy:custom=stock
  $ fp8moe verify d.safetensors --format json -o report.json
  $ query report.json reason dumps.0.tensors.0.recipe dumps.0.tensors.0.verdict dumps.0.tensors.1.recipe dumps.0.tensors.1.verdict
  $ query report.json dumps.0.tensors.0.recipe_source dumps.0.stages.keys
  $ validate report.json
  $ fp8moe verify d.safetensors --recipe gather | head -n 1

A dump that holds no output, an empty one, or only zeros on both sides has nothing to judge: exit code 4.

  $ edit_dump a.safetensors e.safetensors drop:output
  $ fp8moe verify e.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  $ edit_dump a.safetensors f.safetensors zero:hidden_states zero:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  $ edit_dump a.safetensors f.safetensors empty:hidden_states empty:topk_ids empty:topk_weights empty:router_logits empty:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  $ edit_dump a.safetensors f.safetensors zero:output
  $ fp8moe verify f.safetensors | head -n 1; echo ${PIPESTATUS[0]}

f32 whose low halves are zero is judged as the bf16 it is.

  $ edit_dump a.safetensors g.safetensors widen:output widen:hidden_states
  $ fp8moe verify g.safetensors | grep -e same: -e bf16,* -e judged

NaN on one side is a difference and is counted apart; its first place is named.

  $ edit_dump a.safetensors h.safetensors 'set:output[134]=c07f'
  $ fp8moe verify h.safetensors > report.txt; echo $?
  $ head -n 2 report.txt; grep non-finite -A 1 report.txt
  $ fp8moe verify h.safetensors --format json > report.json
  $ query report.json dumps.0.tensors.0.classes dumps.0.tensors.0.nonfinite.first dumps.0.tensors.0.metrics.not_finite dumps.0.tensors.0.metrics.upstream_ulp
  $ validate report.json

NaN in an unrouted expert reaches the gathered path through 0 * NaN, and the report says so.

  $ edit_dump a.safetensors i.safetensors 'set:w2_weight[0]=7f'
  $ fp8moe verify i.safetensors | grep -A 3 note

An output of another shape is refused, not folded.

  $ edit_dump a.safetensors j.safetensors shape:output=6x32
  $ fp8moe verify j.safetensors
  $ edit_dump a.safetensors j.safetensors shape:output=1x3x64
  $ fp8moe verify j.safetensors | head -n 1
