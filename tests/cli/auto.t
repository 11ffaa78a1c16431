Auto asks for what is missing, and says no recipe fits only where none would with any answer.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ edit_dump a.safetensors b.safetensors nometa
  $ fp8moe verify b.safetensors
  fp8moe: b.safetensors: recipe gather needs a target: which device computed this? gaudi2, gaudi3 or ocp; not given so far: --target (one of gaudi2, gaudi3, ocp), --weights-stage (one of checkpoint, loaded, prepared)
  [2]
  $ edit_dump a.safetensors b.safetensors nometa drop:topk_ids drop:topk_weights
  $ fp8moe verify b.safetensors --target gaudi2 --weights-stage checkpoint
  fp8moe: b.safetensors: router_logits without topk_ids need top_k; not given so far: --top-k (a whole number from 1 to 2147483647)
  [2]
  $ edit_dump a.safetensors b.safetensors nometa drop:hidden_states
  $ fp8moe verify b.safetensors
  fp8moe: b.safetensors: no hidden_states
  [3]

Recipes that were only tried leave neither stages nor notes behind.

  $ fp8moe verify a.safetensors --recipe auto --format json -o report.json
  $ query report.json dumps.0.stages.keys
  x_codes x_scale topk_ids topk_weights up_gate activation expert_output output
  $ edit_dump a.safetensors d.safetensors 'set:w2_weight[0]=7f'
  $ fp8moe run d.safetensors --recipe stock -o o.safetensors > /dev/null
  $ edit_dump d.safetensors e.safetensors drop:output; join_dumps e.safetensors o.safetensors f.safetensors output
  $ fp8moe verify f.safetensors --recipe auto --format json -o report.json
  $ query report.json dumps.0.tensors.0.recipe dumps.0.notes
  stock
  []
