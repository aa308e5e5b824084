#!/usr/bin/env python3
"""Counts what a trace holds with Python's own JSON reader and exact decimals: count.py FILE.gz… > counts.json"""
import gzip, json, sys, re
from decimal import Decimal
def count(path):
    d=json.load(gzip.open(path,'rt',errors='replace'), parse_float=Decimal)
    ev=d['traceEvents'] if isinstance(d,dict) else d
    base=int(d.get('baseTimeNanoseconds',0))
    ns=lambda t:int(Decimal(t)*1000)
    X=[e for e in ev if e.get('ph')=='X']
    k=[e for e in X if e.get('cat','').lower()=='kernel']
    n=[e for e in k if re.match(r'(?i)(void )?nccl',e['name'])]
    dev=sorted((ns(e['ts']),ns(e['ts'])+ns(e.get('dur',0))) for e in X if e.get('cat','').lower() in('kernel','gpu_memcpy','gpu_memset','memcpy','memset'))
    busy=0;until=None
    for s,t in dev:
        if t<=s: continue
        if until is None or s>until: busy+=t-s; until=t
        elif t>until: busy+=t-until; until=t
    di=d.get('distributedInfo',{}) if isinstance(d,dict) else {}
    return dict(events=len(ev),spans=len(X),kernels=len(k),collectives=len(n),busy_ns=busy,
      first_ns=base+min((ns(e['ts']) for e in X),default=0) if X else 0,last_ns=base+max((ns(e['ts'])+ns(e.get('dur',0)) for e in X),default=0) if X else 0,
      rank=di.get('rank'),world_size=di.get('world_size'),groups=len(di.get('pg_config',[])),steps=sorted({int(e['name'].split('#')[1]) for e in X if e['name'].startswith('ProfilerStep#')}))
if __name__=='__main__':
    print(json.dumps({p.split('/')[-1]:count(p) for p in sys.argv[1:]},indent=1))
