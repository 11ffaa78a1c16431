What a file holds.

  $ fp8moe synth --shape T=2,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe inspect a.safetensors
  $ fp8moe inspect a.safetensors --tensor w2_weight --tensor topk_ids --format json > inspect.json
  $ query inspect.json tensors.count tensors.0.shape tensors.0.amax tensors.0.exponents tensors.0.not_finite_on_gaudi2 tensors.1.dtype metadata.recipe
  $ validate inspect.json
  $ fp8moe inspect a.safetensors --tensor nothing
  $ edit_dump a.safetensors b.safetensors dtype:output=U16 'set:hidden_states[2]=c07f807f80ff'
  $ fp8moe inspect b.safetensors --tensor hidden_states --tensor output
