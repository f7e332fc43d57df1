"""gevent's monkey patching, where it is asked for; a module of its own, since it comes before all imports."""

import sys

if "gevent" in sys.argv:
    from gevent import monkey

    monkey.patch_all()
