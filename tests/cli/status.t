Whether a vllm-gaudi holds the gathered combine. Exit codes are those the patch script published: 0, 1, 2, and 64 for
a wrong option or path.

  $ make_tree module module; fp8moe status module
  not needed: module/vllm_gaudi
                   the combine is part of this version, in the form of v0.30.0
                   (ops/hpu_moe_combine.py)
  
    definitions
      yes _HPU_MOE_GATHER        assignment  ops/hpu_fp8.py:3
      yes _HPU_MOE_GATHER_RATIO  assignment  ops/hpu_fp8.py:4
      yes _fp8_ulp               function    ops/hpu_fp8.py:6
      yes _verify_moe_combine    function    ops/hpu_fp8.py:13
      yes self._moe_gather_ok    assignment  ops/hpu_fp8.py:24
      yes use_gather             assignment  ops/hpu_fp8.py:30
      yes gather_silu_fp8_moe    function    ops/hpu_moe_combine.py:2
  
    conditions of the gate
      yes gather             _HPU_MOE_GATHER
      yes activation         activation=="silu"
      yes activation_scheme  self.quant_config.activation_scheme!="static"
      yes gather_ok          self._moe_gather_ok
      yes size               x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO
      yes block_quant        self.block_quant
      yes force_channel      envs.VLLM_HPU_FORCE_CHANNEL_FP8
  $ make_tree inline inline; fp8moe status inline
  applied: inline/vllm_gaudi
                   the combine is there, in the form of the backport (all in ops/hpu_fp8.py)
  
    definitions
      yes _HPU_MOE_GATHER        assignment  ops/hpu_fp8.py:3
      yes _HPU_MOE_GATHER_RATIO  assignment  ops/hpu_fp8.py:4
      yes _fp8_ulp               function    ops/hpu_fp8.py:6
      yes _verify_moe_combine    function    ops/hpu_fp8.py:13
      yes self._moe_gather_ok    assignment  ops/hpu_fp8.py:27
      yes use_gather             assignment  ops/hpu_fp8.py:33
      yes gather_silu_fp8_moe    function    ops/hpu_fp8.py:19
  
    conditions of the gate
      yes gather             _HPU_MOE_GATHER
      yes activation         activation=="silu"
      yes activation_scheme  self.quant_config.activation_scheme!="static"
      yes gather_ok          self._moe_gather_ok
      yes size               x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO
      yes block_quant        self.block_quant
      yes force_channel      envs.VLLM_HPU_FORCE_CHANNEL_FP8
  $ make_tree plain plain; fp8moe status plain
  not applied: plain/vllm_gaudi
                   nothing of the combine is there; HPUFp8MoEMethod.apply_monolithic, where it
                   belongs, is
  [1]

Some of it, another gate, or no place for it: the source has drifted.

  $ make_tree parts parts; fp8moe status parts
  source drifted: parts/vllm_gaudi
                   parts of the combine are there, but not _fp8_ulp, _verify_moe_combine,
                   gather_silu_fp8_moe
  
    definitions
      yes _HPU_MOE_GATHER        assignment  ops/hpu_fp8.py:3
      yes _HPU_MOE_GATHER_RATIO  assignment  ops/hpu_fp8.py:4
      no  _fp8_ulp               function
      no  _verify_moe_combine    function
      yes self._moe_gather_ok    assignment  ops/hpu_fp8.py:11
      yes use_gather             assignment  ops/hpu_fp8.py:17
      no  gather_silu_fp8_moe    function
  
    conditions of the gate
      yes gather             _HPU_MOE_GATHER
      yes activation         activation=="silu"
      yes activation_scheme  self.quant_config.activation_scheme!="static"
      yes gather_ok          self._moe_gather_ok
      yes size               x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO
      yes block_quant        self.block_quant
      yes force_channel      envs.VLLM_HPU_FORCE_CHANNEL_FP8
  [2]
  $ make_tree renamed inline _moe_gather_ok=_gather_allowed; fp8moe status renamed | head -n 12
  source drifted: renamed/vllm_gaudi
                   parts of the combine are there, but not self._moe_gather_ok
  
    definitions
      yes _HPU_MOE_GATHER        assignment  ops/hpu_fp8.py:3
      yes _HPU_MOE_GATHER_RATIO  assignment  ops/hpu_fp8.py:4
      yes _fp8_ulp               function    ops/hpu_fp8.py:6
      yes _verify_moe_combine    function    ops/hpu_fp8.py:13
      no  self._moe_gather_ok    assignment
      yes use_gather             assignment  ops/hpu_fp8.py:33
      yes gather_silu_fp8_moe    function    ops/hpu_fp8.py:19
  
  $ make_tree looser module "and self._moe_gather_ok="; fp8moe status looser
  source drifted: looser/vllm_gaudi
                   the combine is there, but its gate is another: it no longer asks
                   self._moe_gather_ok
  
    definitions
      yes _HPU_MOE_GATHER        assignment  ops/hpu_fp8.py:3
      yes _HPU_MOE_GATHER_RATIO  assignment  ops/hpu_fp8.py:4
      yes _fp8_ulp               function    ops/hpu_fp8.py:6
      yes _verify_moe_combine    function    ops/hpu_fp8.py:13
      yes self._moe_gather_ok    assignment  ops/hpu_fp8.py:24
      yes use_gather             assignment  ops/hpu_fp8.py:30
      yes gather_silu_fp8_moe    function    ops/hpu_moe_combine.py:2
  
    conditions of the gate
      yes gather             _HPU_MOE_GATHER
      yes activation         activation=="silu"
      yes activation_scheme  self.quant_config.activation_scheme!="static"
      no  gather_ok          self._moe_gather_ok
      yes size               x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO
      yes block_quant        self.block_quant
      yes force_channel      envs.VLLM_HPU_FORCE_CHANNEL_FP8
  [2]
  $ make_tree strict module "<= layer=< layer"; fp8moe status strict | head -n 4
  source drifted: strict/vllm_gaudi
                   the combine is there, but its gate is another: it no longer asks
                   x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO, it
                   asks
  $ make_tree more module "_HPU_MOE_GATHER and=_HPU_MOE_GATHER and not layer.is_draft and"; fp8moe status more | head -n 4
  source drifted: more/vllm_gaudi
                   the combine is there, but its gate is another: it asks not layer.is_draft
  
    definitions
  $ make_tree moved plain apply_monolithic=apply_split; fp8moe status moved
  source drifted: moved/vllm_gaudi
                   ops/hpu_fp8.py has no HPUFp8MoEMethod.apply_monolithic: the combine has no place to
                   go
  [2]
  $ make_tree half plain; sed -n '/def gather/,$p' module/vllm_gaudi/ops/hpu_moe_combine.py > half/vllm_gaudi/ops/hpu_moe_combine.py; fp8moe status half | head -n 3
  source drifted: half/vllm_gaudi
                   parts of the combine are there, but not _HPU_MOE_GATHER, _HPU_MOE_GATHER_RATIO,
                   _fp8_ulp, _verify_moe_combine, self._moe_gather_ok, use_gather

A fork that adds its dense combine:

  $ make_tree fork module; echo 'def dense_silu_fp8_moe(layer): pass' >> fork/vllm_gaudi/ops/hpu_moe_combine.py
  $ fp8moe status fork | head -n 4
  not needed: fork/vllm_gaudi
                   the combine is part of this version, in the form of v0.30.0
                   (ops/hpu_moe_combine.py)
    note           a fork's dense combine (dense_silu_fp8_moe) stands beside it

The package itself, a folder of packages, a virtual environment:

  $ fp8moe status module/vllm_gaudi | head -n 1
  not needed: module/vllm_gaudi
  $ mkdir -p venv/lib/python3.12/site-packages; cp -r inline/vllm_gaudi venv/lib/python3.12/site-packages
  $ fp8moe status venv/lib/python3.12/site-packages | head -n 1
  applied: venv/lib/python3.12/site-packages/vllm_gaudi
  $ fp8moe status venv | head -n 1
  applied: venv/lib/python3.12/site-packages/vllm_gaudi

What is no tree, and what is no option:

  $ mkdir empty; fp8moe status empty
  fp8moe: 'empty' holds no vllm_gaudi/ops/hpu_fp8.py
  [64]
  $ fp8moe status nowhere
  fp8moe: 'nowhere' holds no vllm_gaudi/ops/hpu_fp8.py
  [64]
  $ fp8moe status
  fp8moe: status needs PATH
  Try 'fp8moe help status'.
  [64]
  $ fp8moe status --top-k 8 module
  fp8moe: --top-k is no option of status (it belongs to: verify run lint init ranks route gate)
  Try 'fp8moe help status'.
  [64]
  $ fp8moe status --format xml module
  fp8moe: --format 'xml': expected one of text, json
  [64]

JSON:

  $ fp8moe status renamed --format json -o renamed.json; validate renamed.json; query renamed.json state reason
  renamed.json: fp8moe.status/1: valid
  drifted
  parts of the combine are there, but not self._moe_gather_ok
  $ fp8moe status module --format json > module.json; validate module.json; query module.json state definitions.6.file
  module.json: fp8moe.status/1: valid
  not_needed
  ops/hpu_moe_combine.py
  $ fp8moe status plain --format json > plain.json; validate plain.json; query plain.json state package
  plain.json: fp8moe.status/1: valid
  not_applied
  plain/vllm_gaudi
