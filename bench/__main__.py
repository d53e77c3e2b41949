"""`make bench`: every benchmark that finishes in minutes, one after the other in one process
run.
"""

from __future__ import annotations

from bench import acceptance, certificates, peers, startup


def main() -> None:
    for title, run in (
        ("Start-up", startup.main),
        ("Training: us and the peers", peers.main),
        ("Certificates: producer and checker", lambda: certificates.main([])),
        ("Accepted fits, 5 seeds", lambda: acceptance.main(5)),
    ):
        print(f"\n## {title}\n", flush=True)
        run()


if __name__ == "__main__":
    main()
