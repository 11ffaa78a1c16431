Each setting says where it came from: an option, the metadata, the tensors, a default.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ edit_dump a.safetensors b.safetensors unmeta:num_experts unmeta:local_num_experts unmeta:op unmeta:ep_rank
  $ fp8moe verify b.safetensors --top-k 2 --format json -o report.json
  $ query report.json dumps.0.settings.top_k dumps.0.settings.target dumps.0.settings.num_experts dumps.0.settings.ep_rank dumps.0.settings.op
  {"value": 2, "source": "option"}
  {"value": "gaudi2", "source": "metadata"}
  {"value": 4, "source": "inferred"}
  {"value": 0, "source": "default"}
  {"value": "moe", "source": "inferred"}
  $ query report.json dumps.0.settings.ep_size
  {"value": null, "source": null}

An option wins over the metadata, also a switch that the metadata turned off.

  $ edit_dump a.safetensors c.safetensors meta:renormalize=false drop:topk_ids drop:topk_weights
  $ fp8moe verify c.safetensors | head -n 1
  different: output differs from recipe gather (evidence: source): 192 elements lie outside what any
  $ fp8moe verify c.safetensors --renormalize | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ fp8moe verify a.safetensors --no-renormalize --top-k 2 | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical

Illegal metadata is an error of the file.

  $ edit_dump a.safetensors d.safetensors meta:top_k=two
  $ fp8moe verify d.safetensors
  fp8moe: d.safetensors: metadata top_k is 'two': expected a whole number from 1 to 2147483647
  [3]
  $ edit_dump a.safetensors d.safetensors meta:target=gaudi5
  $ fp8moe verify d.safetensors
  fp8moe: d.safetensors: metadata target is 'gaudi5': expected one of gaudi2, gaudi3, ocp
  [3]
  $ edit_dump a.safetensors d.safetensors meta:renormalize=yes
  $ fp8moe verify d.safetensors
  fp8moe: d.safetensors: metadata renormalize is 'yes': expected true or false
  [3]

A target is never assumed, a weight stage only where there is no other; the sentence says what to give.

  $ edit_dump a.safetensors e.safetensors nometa
  $ fp8moe verify e.safetensors --recipe gather
  fp8moe: e.safetensors: recipe gather needs a target: which device computed this? gaudi2, gaudi3 or ocp; not given so far: --target (one of gaudi2, gaudi3, ocp), --weights-stage (one of checkpoint, loaded, prepared)
  [2]
  $ fp8moe verify e.safetensors --recipe gather --target gaudi3 | grep -e inferred -e weights_stage
    inferred       op moe, weights_stage loaded, top_k 2, num_experts 4, local_num_experts 4
    note           weights_stage loaded was inferred from the weights
  $ edit_dump e.safetensors f.safetensors drop:topk_ids drop:topk_weights
  $ fp8moe verify f.safetensors --recipe gather --target ocp
  fp8moe: f.safetensors: router_logits without topk_ids need top_k; not given so far: --weights-stage (one of checkpoint, loaded, prepared), --top-k (a whole number from 1 to 2147483647)
  [2]
  $ fp8moe run e.safetensors --target ocp -o out.safetensors
  fp8moe: e.safetensors: no recipe: say --recipe NAME ('fp8moe recipes' lists them)
  [2]

Where every target gives the same bits none is asked for.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe bf16 -o g.safetensors | head -n 3
  g.safetensors: written under recipe bf16
    option         recipe bf16
    inferred       weights_stage checkpoint, top_k 2, num_experts 4, local_num_experts 4
  $ fp8moe verify g.safetensors | head -n 1
  same: output is the same as recipe bf16 (evidence: fixture): every row is identical

The sizes of an expert-parallel group follow from each other, and must agree.

  $ edit_dump e.safetensors h.safetensors drop:router_logits
  $ fp8moe verify h.safetensors --recipe gather --target ocp --weights-stage checkpoint --ep-size 2 --ep-rank 1 --format json > report.json
  [1]
  $ query report.json dumps.0.rank dumps.0.settings.num_experts dumps.0.settings.local_num_experts dumps.0.notes
  1
  {"value": 8, "source": "inferred"}
  {"value": 4, "source": "inferred"}
  ["recipe gather: 6 routed slots belong to other ranks or hold id -1"]
  $ fp8moe verify h.safetensors --recipe gather --target ocp --ep-size 2 --ep-rank 2
  fp8moe: h.safetensors: ep_rank 2 of 2 ranks: ranks count from 0
  [2]
  $ fp8moe verify h.safetensors --recipe gather --target ocp --ep-size 2 --num-experts 9
  fp8moe: h.safetensors: num_experts 9 is not local_num_experts 4 times ep_size 2
  [2]

A recipe of the other op is refused.

  $ fp8moe verify a.safetensors --recipe dequant-linear
  fp8moe: a.safetensors: recipe dequant-linear is for --op linear, this dump is taken as moe
  [2]
