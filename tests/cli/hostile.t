Broken case files: each one's sentence with line and column, and exit code 3.

  $ cd data/hostile; for case in *.yaml; do fp8moe verify $case; test $? = 3 || echo "$case: not 3"; done
  fp8moe: alias-bomb.yaml: line 1, column 4: anchors and aliases ('a') are not used here
  fp8moe: alias-of-nothing.yaml: line 1, column 8: anchors and aliases ('a') are not used here
  fp8moe: alias-to-itself.yaml: line 1, column 1: anchors and aliases ('a') are not used here
  fp8moe: anchor-on-key.yaml: line 1, column 1: anchors and aliases ('a') are not used here
  fp8moe: axes-too-many.yaml: line 1, column 39: more than 12 axes
  fp8moe: axis-of-unknown-column.yaml: line 1, column 45: a recipe has no column 'colour'
  fp8moe: based-on-itself.yaml: line 1, column 14: based_on 'r': there is no such recipe
  fp8moe: based-on-missing.yaml: line 1, column 11: 'r' needs based_on: the row it starts from
  fp8moe: based-on-unknown.yaml: line 1, column 14: based_on 'gaudi9': there is no such target
  fp8moe: character-control.yaml: line 2, column 10: control characters are not allowed
  fp8moe: character-not-utf-8.yaml: line 1, column 10: invalid leading UTF-8 octet
  fp8moe: character-nul-escaped.yaml: line 1, column 8: text with a NUL byte
  fp8moe: character-nul.yaml: line 1, column 9: control characters are not allowed
  fp8moe: comment-only.yaml: line 2, column 1: the file is empty
  fp8moe: deeper-than-16.yaml: line 1, column 24: more than 16 levels
  fp8moe: deeper-than-memory.yaml: line 1, column 18: more than 16 levels
  fp8moe: empty.yaml: line 1, column 1: the file is empty
  fp8moe: escape-unknown.yaml: line 1, column 10: found unknown escape character
  fp8moe: expect-unknown.yaml: line 2, column 9: expect 'fine': same, different or inconclusive
  fp8moe: files-map.yaml: line 1, column 8: files must be a list, not a map
  fp8moe: files-missing.yaml: line 1, column 1: a layer needs files
  fp8moe: files-of-lists.yaml: line 1, column 9: a file must be text, not a list
  fp8moe: key-empty.yaml: line 1, column 1: unknown key ''
  fp8moe: key-is-list.yaml: line 1, column 3: a key must be text
  fp8moe: key-of-a-layer-for-all.yaml: line 1, column 1: unknown key 'title'
  fp8moe: key-of-command-line.yaml: line 2, column 1: unknown key 'output'
  fp8moe: key-twice-below.yaml: line 2, column 15: key 'a' stands twice, first in line 2
  fp8moe: key-twice.yaml: line 3, column 1: key 'files' stands twice, first in line 1
  fp8moe: key-unknown-with-map.yaml: line 2, column 1: unknown key 'router'
  fp8moe: key-unknown.yaml: line 2, column 1: unknown key 'topk'
  fp8moe: key-with-dashes.yaml: line 2, column 1: unknown key 'top-k'
  fp8moe: layers-empty.yaml: line 1, column 9: a case file needs a layer
  fp8moe: layers-map.yaml: line 1, column 9: layers must be a list, not a map
  fp8moe: layers-of-text.yaml: line 1, column 10: a layer must be a map, not text
  fp8moe: list-cut-off.yaml: line 2, column 1: did not find expected node content
  fp8moe: merge-key.yaml: line 2, column 1: unknown key '<<'
  fp8moe: names-list.yaml: line 2, column 8: names must be a map, not a list
  fp8moe: names-of-list.yaml: line 2, column 24: hidden_states must be text, not a list
  fp8moe: number-of-two-numbers.yaml: line 2, column 20: --weight-block-size '128': expected ROWSxCOLUMNS
  fp8moe: number-too-large.yaml: line 2, column 8: --top-k '99999999999999999999': expected a whole number from 1 to 2147483647
  fp8moe: number-with-comma.yaml: line 2, column 24: --routed-scaling-factor '2,5': expected a finite number
  fp8moe: pattern-before-slash.yaml: line 1, column 8: '/*/*/*/*/*.pt': a pattern may stand behind the last / only
  fp8moe: pattern-of-many-stars.yaml: line 1, column 8: '*a*a*a*a*a*a*a*a*a*a*a*a*b': a pattern has at most 3 *
  fp8moe: recipe-of-shipped-name.yaml: line 1, column 11: there is a recipe 'stock' already
  fp8moe: recipe-twice.yaml: line 1, column 34: key 'r' stands twice, first in line 1
  fp8moe: root-list.yaml: line 1, column 1: a case file must be a map, not a list
  fp8moe: root-text.yaml: line 1, column 1: a case file must be a map, not text
  fp8moe: tab-as-indent.yaml: line 2, column 1: found character that cannot start any token
  fp8moe: tag-of-python.yaml: line 1, column 8: tags ('tag:yaml.org,2002:python/object/apply:os.system') are not used here
  fp8moe: target-not-a-number.yaml: line 1, column 51: dot_slack 'nan' must be a number of at least 0
  fp8moe: target-slack-negative.yaml: line 1, column 51: dot_slack '-1' must be a number of at least 0
  fp8moe: text-cut-off.yaml: line 2, column 1: found unexpected end of stream
  fp8moe: two-documents.yaml: line 2, column 1: a second document: one file holds one
  fp8moe: version-9.yaml: line 1, column 1: found incompatible YAML document

What is no file of text: a folder, a FIFO (nobody waits for its other end). What is too much of it.

  $ mkdir folder.yaml; fp8moe verify folder.yaml
  fp8moe: folder.yaml: is not a regular file
  [3]
  $ mkfifo fifo.yaml; fp8moe verify fifo.yaml
  fp8moe: fifo.yaml: is not a regular file
  [3]
  $ yes 'files: x.pt' | head -c 1048577 > large.yaml; fp8moe verify large.yaml
  fp8moe: large.yaml: more than 1048576 bytes of YAML
  [3]
  $ python3 -c "print('files: [' + 'x,' * 100001 + ']')" > nodes.yaml; fp8moe verify nodes.yaml
  fp8moe: nodes.yaml: line 1, column 200005: more than 100000 nodes
  [3]
  $ python3 -c "print({f'k{i}': i for i in range(1001)})" > keys.yaml; fp8moe verify keys.yaml
  fp8moe: keys.yaml: line 1, column 12782: more than 1000 keys
  [3]
  $ python3 -c "print('names:', {f'n{i}': 'x' for i in range(400)}, '\nlayers:', [{'files': 'x'}] * 400)" > values.yaml; fp8moe verify values.yaml
  fp8moe: values.yaml: line 1, column 1857: more than 100000 values over all layers
  [3]
  $ fp8moe verify data/legal/one-layer.yaml data/legal/windows-line-ends.yaml data/legal/block-texts.yaml -o report.txt
  fp8moe: data/legal/a.pt: cannot open: no such file or folder (errno 2)
  fp8moe: data/legal/a.pt: cannot open: no such file or folder (errno 2)
  fp8moe: data/legal/a.pt: cannot open: no such file or folder (errno 2)
  [3]
