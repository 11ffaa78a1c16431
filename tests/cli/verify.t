A made-up layer carries its settings as metadata, so verify needs no option.

  $ fp8moe synth --shape T=3,E=8,K=2,H=200,I=136 --recipe stock --target gaudi2 --seed 7 -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors

Another recipe than the one it was made under is a difference; the report stays within 100 columns.

  $ fp8moe verify a.safetensors --recipe gather > report.txt
  $ head -n 3 report.txt
  $ awk 'length > 100' report.txt

Auto names the best and lists the others.

  $ fp8moe verify a.safetensors --recipe auto --format json -o report.json
  $ query report.json verdict reason dumps.0.tensors.0.recipe dumps.0.tensors.0.recipe_source
  $ query report.json dumps.0.tensors.0.candidates.0 dumps.0.tensors.0.candidates.8
  $ validate report.json

JSON is the same byte for byte but for `timing`, whatever the threads and the instruction set.

  $ fp8moe verify a.safetensors --format json --threads 1 --isa portable | sed '/"timing"/,$d' > one.json
  $ fp8moe verify a.safetensors --format json --threads 3 | sed '/"timing"/,$d' > three.json
  $ grep -c . one.json; cmp one.json three.json

Several dumps: each is judged, the worst counts, the rest is still reported.

  $ fp8moe synth --shape T=2,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o b.safetensors > /dev/null
  $ fp8moe verify a.safetensors b.safetensors | grep -v '^  '
  $ edit_dump b.safetensors c.safetensors copy:hidden_states=output
  $ fp8moe verify a.safetensors c.safetensors b.safetensors | grep -v '^  '
  $ fp8moe verify c.safetensors nothing.safetensors a.safetensors --format json > report.json
  $ query report.json verdict dumps.0.verdict dumps.1.verdict dumps.1.reason dumps.2.verdict
  $ validate report.json
