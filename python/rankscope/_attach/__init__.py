"""What `rankscope.attach` is made of: `recorder` (what happened, bounded), `sender` (a thread that hands it on), `wire` (in which
bytes), `hooks` (where PyTorch tells). Nothing here is imported before somebody attaches."""
