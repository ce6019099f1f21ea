"""Questions to the studio, as its pages ask them."""

from __future__ import annotations


def asked(guest, path, status=200, **body):
    answer = guest.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def promised(guest, path, **body):
    """The answer of a job, once it is done."""
    promise = asked(guest, path, **body)
    while not promise["done"]:
        promise = guest.get(f"/api/jobs/{promise['job']}").json()
    return promise["answer"]
