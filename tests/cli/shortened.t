A file that another process shortens while it is in use: one sentence that names it, exit code 3, no half output. The preloaded library shortens a file when it is mapped.

  $ echo "LD_PRELOAD=$(dirname $(command -v fp8moe))/libshorten.so ASAN_OPTIONS=verify_asan_link_order=0" > preload
  $ fp8moe synth --shape T=4,E=8,K=2,H=512,I=256 --recipe gather --target gaudi2 -o big.safetensors > /dev/null
  $ mkdir used; cp big.safetensors used/a.safetensors; env $(cat preload) SHORTEN=/a.safetensors SHORTEN_TO=8192 SHORTEN_AT=2 fp8moe verify used/a.safetensors -o used/report.txt; echo $?; ls -A used
  fp8moe: used/a.safetensors: was shortened while it was read, or its device fails
  3
  a.safetensors
  $ cp big.safetensors used/a.safetensors; env $(cat preload) SHORTEN=/a.safetensors SHORTEN_TO=8192 SHORTEN_AT=2 fp8moe run used/a.safetensors --stages -o used/out.safetensors; echo $?; ls -A used
  fp8moe: used/a.safetensors: was shortened while it was read, or its device fails
  3
  a.safetensors

While it is being opened; and from another folder, where its whole name is needed.

  $ cp big.safetensors used/a.safetensors; env $(cat preload) SHORTEN=/a.safetensors SHORTEN_TO=0 fp8moe inspect used/a.safetensors
  fp8moe: used/a.safetensors: was shortened while it was read, or its device fails
  [3]
  $ cp big.safetensors a.safetensors; cd used; env $(cat ../preload) SHORTEN=/a.safetensors SHORTEN_TO=0 fp8moe inspect ../a.safetensors 2>&1 | sed "s|$(realpath ..)|FOLDER|"
  fp8moe: FOLDER/a.safetensors: was shortened while it was read, or its device fails

A shard of a model folder.

  $ make_checkpoint model mapped; fp8moe synth --shape T=4,E=8,K=2,H=256,I=512 --recipe gather --target gaudi2 -o s.safetensors > /dev/null
  $ edit_dump s.safetensors bare.safetensors drop:w13_weight drop:w13_weight_scale_inv drop:w2_weight drop:w2_weight_scale_inv drop:output unmeta:weight_block_size unmeta:local_num_experts unmeta:num_experts
  $ fp8moe run bare.safetensors --weights model -o out.safetensors | tail -n 1
    output                   [4, 256] BF16                sha256 e8d74f810656ae3e...
  $ env $(cat preload) SHORTEN=00002-of-00002.safetensors SHORTEN_TO=8192 SHORTEN_AT=2 fp8moe run bare.safetensors --weights model -o used/out.safetensors; echo $?; ls -A used
  fp8moe: model/model-00002-of-00002.safetensors: was shortened while it was read, or its device fails
  3
  a.safetensors
  $ make_checkpoint model mapped; env $(cat preload) SHORTEN=00001-of-00002.safetensors SHORTEN_TO=8192 SHORTEN_AT=2 fp8moe prepare --weights model --target gaudi2 -o used/out.safetensors; echo $?; ls -A used
  fp8moe: model/model-00001-of-00002.safetensors: was shortened while it was read, or its device fails
  3
  a.safetensors
