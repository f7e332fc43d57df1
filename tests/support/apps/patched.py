"""gevent's monkey patching, if argv names gevent. It has to come before all other imports."""

import sys

if "gevent" in sys.argv:
    from gevent import monkey

    monkey.patch_all()
