Each setting says where it came from: an option, the metadata, the tensors, a default.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ edit_dump a.safetensors b.safetensors unmeta:num_experts unmeta:local_num_experts unmeta:op unmeta:ep_rank
  $ fp8moe verify b.safetensors --top-k 2 --format json -o report.json
  $ query report.json dumps.0.settings.top_k dumps.0.settings.target dumps.0.settings.num_experts dumps.0.settings.ep_rank dumps.0.settings.op
  $ query report.json dumps.0.settings.ep_size

An option wins over the metadata, also a switch that the metadata turned off.

  $ edit_dump a.safetensors c.safetensors meta:renormalize=false drop:topk_ids drop:topk_weights
  $ fp8moe verify c.safetensors | head -n 1
  $ fp8moe verify c.safetensors --renormalize | head -n 1
  $ fp8moe verify a.safetensors --no-renormalize --top-k 2 | head -n 1

Illegal metadata is an error of the file.

  $ edit_dump a.safetensors d.safetensors meta:top_k=two
  $ fp8moe verify d.safetensors
  $ edit_dump a.safetensors d.safetensors meta:target=gaudi5
  $ fp8moe verify d.safetensors
  $ edit_dump a.safetensors d.safetensors meta:renormalize=yes
  $ fp8moe verify d.safetensors

A target is never assumed, a weight stage only where there is no other; the sentence says what to give.

  $ edit_dump a.safetensors e.safetensors nometa
  $ fp8moe verify e.safetensors --recipe gather
  $ fp8moe verify e.safetensors --recipe gather --target gaudi3 | grep -e inferred -e weights_stage
  $ edit_dump e.safetensors f.safetensors drop:topk_ids drop:topk_weights
  $ fp8moe verify f.safetensors --recipe gather --target ocp
  $ fp8moe run e.safetensors --target ocp -o out.safetensors

Where every target gives the same bits none is asked for.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe bf16 -o g.safetensors | head -n 3
  $ fp8moe verify g.safetensors | head -n 1

The sizes of an expert-parallel group follow from each other, and must agree.

  $ edit_dump e.safetensors h.safetensors drop:router_logits
  $ fp8moe verify h.safetensors --recipe gather --target ocp --weights-stage checkpoint --ep-size 2 --ep-rank 1 --format json > report.json
  $ query report.json dumps.0.rank dumps.0.settings.num_experts dumps.0.settings.local_num_experts dumps.0.notes
  $ fp8moe verify h.safetensors --recipe gather --target ocp --ep-size 2 --ep-rank 2
  $ fp8moe verify h.safetensors --recipe gather --target ocp --ep-size 2 --num-experts 9

A recipe of the other op is refused.

  $ fp8moe verify a.safetensors --recipe dequant-linear
