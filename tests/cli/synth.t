The same seed gives the same bytes on every machine.

  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 7 -o a.safetensors
  $ sha256sum a.safetensors
  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 7 --threads 1 -o b.safetensors > /dev/null; cmp a.safetensors b.safetensors
  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe gather --target gaudi2 --seed 8 -o c.safetensors > /dev/null; cmp -s a.safetensors c.safetensors

Under every recipe the layer verifies as itself, at every stage it can have.

  $ for recipe in gather stock stock-hp stock-eager dense dequant bf16 static-moe exact; do fp8moe synth --shape T=2,E=4,K=2,H=160,I=48 --recipe $recipe --target gaudi2 -o s.safetensors > /dev/null && fp8moe verify s.safetensors | head -n 1; done
  $ for stage in checkpoint loaded prepared; do fp8moe synth --shape T=2,E=4,K=2,H=160,I=48 --recipe stock --target gaudi2 --weights-stage $stage -o $stage.safetensors > /dev/null && fp8moe verify $stage.safetensors | head -n 1; done

A loaded layer is the same layer as the one of the checkpoint.

  $ fp8moe compare checkpoint.safetensors:output loaded.safetensors:output | head -n 1
  $ fp8moe compare checkpoint.safetensors:w13_weight loaded.safetensors:w13_weight | head -n 1 | cut -c 1-42

Another order of f32 sums moves few elements, and never far.

  $ fp8moe synth --shape T=4,E=4,K=2,H=512,I=256 --recipe dequant --target ocp --noise 3 -o n.safetensors > /dev/null
  $ fp8moe verify n.safetensors | head -n 1

Real checkpoints by name; what is not said is one token.

  $ fp8moe synth qwen3-30b-a3b --shape E=8 --recipe gather --target gaudi2 -o m.safetensors | grep -e weight -e states
  $ fp8moe synth minimax-m2 --shape E=16,H=64,I=32 --recipe stock --target gaudi3 -o m.safetensors | grep -e inferred -e bias
  $ fp8moe verify m.safetensors | head -n 1
  $ fp8moe synth qwen3-30b --recipe gather --target gaudi2 -o m.safetensors

What is missing or cannot be is said.

  $ fp8moe synth --recipe gather --target gaudi2 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2 --recipe gather --target gaudi2 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=3,H=4,I=4 --recipe gather --target gaudi2 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=3,H=4,X=4 --recipe gather --target gaudi2 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --target gaudi2 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe w8a16-linear --target ocp -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp --seed -1 -o m.safetensors
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp
  $ fp8moe synth --shape T=1,E=2,K=2,H=4,I=4 --recipe gather --target ocp -o m.safetensors --format json > synth.json
  $ validate synth.json
