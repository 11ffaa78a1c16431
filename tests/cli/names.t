Names people use: the op's own argument names, with and without _weight, _scale or _scale_inv.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ edit_dump a.safetensors b.safetensors rename:hidden_states=x rename:topk_ids=expert_routing_table rename:topk_weights=router_weights rename:w13_weight=w12 rename:w13_weight_scale_inv=d_scale_w12 rename:w2_weight=w3 rename:w2_weight_scale_inv=d_scale_w3 rename:output=out0
  $ fp8moe verify b.safetensors | head -n 1
  $ edit_dump a.safetensors b.safetensors rename:w13_weight=w13 rename:w13_weight_scale_inv=w13_scale rename:w2_weight_scale_inv=w2_scale_inv rename:hidden_states=input
  $ fp8moe verify b.safetensors | head -n 1

Two names for one field are an error; --name chooses, and the other is not used.

  $ edit_dump a.safetensors c.safetensors copy:hidden_states=x
  $ fp8moe verify c.safetensors
  $ fp8moe verify c.safetensors --name hidden_states=x | grep -e same: -e used
  $ fp8moe verify c.safetensors --name hidden_states=nothing
  $ fp8moe verify c.safetensors --name x=x --name hidden_states=hidden_states
  $ edit_dump a.safetensors d.safetensors rename:output=model.layers.0.mlp.out
  $ fp8moe verify d.safetensors --name output=model.layers.0.mlp.out | head -n 1

w3 is the op's down projection or a checkpoint's up projection: its shape must tell.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=64 --recipe gather --target gaudi2 -o square.safetensors > /dev/null
  $ edit_dump square.safetensors e.safetensors rename:w2_weight=w3 rename:w2_weight_scale_inv=d_scale_w3
  $ fp8moe verify e.safetensors
  $ fp8moe verify e.safetensors --name w2_weight=w3 | head -n 1
  $ edit_dump a.safetensors f.safetensors rename:w2_weight=w3 shape:w3=4x32x64
  $ fp8moe verify f.safetensors

A tensor of no known name is said to be unused; weights of both ops need --op.

  $ edit_dump a.safetensors g.safetensors copy:hidden_states=hiden_states
  $ fp8moe verify g.safetensors | grep used
  $ edit_dump a.safetensors h.safetensors copy:w2_weight=weight
  $ fp8moe verify h.safetensors
  $ fp8moe verify h.safetensors --op moe | head -n 1
  $ edit_dump a.safetensors h.safetensors copy:w2_weight=weight unmeta:op
  $ fp8moe verify h.safetensors

Bytes that a file cannot name are read with --as.

  $ edit_dump a.safetensors i.safetensors dtype:w13_weight=U8 dtype:output=U16
  $ fp8moe verify i.safetensors
  $ fp8moe verify i.safetensors --as w13_weight=e4m3fn --as output=bf16 | head -n 1
  $ fp8moe verify i.safetensors --as nothing=bf16
  $ fp8moe verify i.safetensors --as hidden_states=e4m3fn
