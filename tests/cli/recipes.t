Every row with its columns, evidence and open axes.

  $ fp8moe recipes | grep -e '^target' -e '^recipe'
  target gaudi2
  target gaudi3
  target ocp, alias cuda
  recipe gather, alias custom (moe)
  recipe stock, alias moe_op (moe)
  recipe stock-hp (moe)
  recipe stock-eager (moe)
  recipe dense (moe)
  recipe dequant, alias block (moe)
  recipe bf16 (moe)
  recipe static-moe (moe)
  recipe exact (moe)
  recipe static-linear (linear)
  recipe dynamic-linear (linear)
  recipe dequant-linear (linear)
  recipe w8a16-linear (linear)
  $ fp8moe recipes static-moe
  recipe static-moe (moe)
    columns        op=moe weights=codes input=fp8-static input_cast=f32-division dot_round=bf16
                   scale=f32 up_gate=bf16 silu=bf16 silu_form=one-step product=bf16
                   intermediate=fp8-static intermediate_cast=bf16-inverse down_operand=code
                   down_round=bf16 down_out=bf16 row_scale=down router_weight=bf16 slot_round=none
                   sum=f32 order=unstated pairs=routed ids=offset
    evidence       measured, a Gaudi2 capture of the static op
    open           scales one after the other: scale=sequential
  
  $ fp8moe recipes custom | head -n 1
  recipe gather, alias custom (moe)
  $ fp8moe recipes | awk 'length > 100'
  $ fp8moe recipes --format json > recipes.json
  $ query recipes.json targets.0 recipes.0.columns.scale recipes.0.open_axes.0
  {"name": "gaudi2", "alias": null, "fp8_max": 240, "first_code_not_finite": 120, "scale_in_input_dtype": true, "loader_halves": true, "dot_slack": 16, "silu_slack": 1, "silu_slack_rate": 0.125, "evidence": "captures of static paths; slack measured about 1 (dots) and 1 to 2 % (silu)"}
  f32
  {"name": "tf32 down matmul", "settings": "down_operand=scaled-tf32"}
  $ validate recipes.json
  recipes.json: fp8moe.recipes/1: valid
