inferno generate --speculative ngram -t 0 "tick tock tick tock tick tock tick tock tick tock" 60 --json | python3 -c 'import json,sys;print(json.load(sys.stdin)["guesses"])'
inferno generate --speculative ngram -t 0.3 "tick tock tick tock tick tock tick tock tick tock" 60 --json | python3 -c 'import json,sys;print(json.load(sys.stdin)["guesses"])'
inferno generate --speculative ngram -t 0.01 "tick tock tick tock tick tock tick tock tick tock" 60 --json | python3 -c 'import json,sys;print(json.load(sys.stdin)["guesses"])'
time inferno bench generation --max-seconds 20
ls benchmarks/reports
time inferno bench generation --max-seconds 15 --config short --log runs.jsonl
ls benchmarks/reports; wc -l runs.jsonl
inferno bench compare benchmarks/reports/*.previous.json benchmarks/reports/d*.json
