import logging

import pytest
from locker.codes import CodeBook, Guard, new_code
from locker.doors import open_with_code


def test_codes_have_eight_digits_and_differ() -> None:
    ##= docs/spec/locker.md#codes
    ##= type=test
    ##% A code MUST have eight digits from a source of randomness that is fit for secrets.
    codes = {new_code() for _ in range(200)}
    assert all(len(code) == 8 and code.isdigit() for code in codes)
    assert len(codes) > 190


def test_a_code_works_once() -> None:
    ##= docs/spec/locker.md#codes
    ##= type=test
    ##% A code MUST open one box, once.
    book = CodeBook()
    code = book.issue(7)
    assert book.redeem(code) == 7
    assert book.redeem(code) is None


def test_five_wrong_codes_close_the_panel_for_fifteen_minutes() -> None:
    ##= docs/spec/locker.md#codes
    ##= type=test
    ##% After five wrong codes within ten minutes the panel MUST take no further code for fifteen minutes.
    guard = Guard()
    for second in range(5):
        assert guard.may_try(second)
        guard.wrong_code(second)
    assert not guard.may_try(4 + 15 * 60 - 1)
    assert guard.may_try(4 + 15 * 60)


def test_the_log_holds_no_code(caplog: pytest.LogCaptureFixture) -> None:
    ##= docs/spec/locker.md#codes
    ##= type=test
    ##% The locker MUST NOT write a code into its log.
    book = CodeBook()
    code = book.issue(7)
    with caplog.at_level(logging.DEBUG):
        book.redeem(code)
    assert "box 7" in caplog.text
    assert code not in caplog.text


def test_a_stuck_lock_is_tried_for_less_than_two_seconds() -> None:
    ##= docs/spec/locker.md#fetching
    ##= type=test
    ##% Opening a box MUST take no longer than two seconds after the last digit of the code.
    book, spent = CodeBook(), []

    def stuck(_box: int, seconds: float) -> bool:
        spent.append(seconds)
        return False

    assert open_with_code(book, book.issue(7), stuck) is None
    assert sum(spent) < 2
