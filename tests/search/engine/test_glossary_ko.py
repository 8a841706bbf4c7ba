"""The Korean glossary and stopwords: important words mean the right thing."""

from __future__ import annotations

import re

import pytest
from tests.glossary_support import (
    english_of,
    stopwords,
    without_meaning,
    without_shared_meaning,
)

HANGUL = re.compile("[\uac00-\ud7a3]")


def test_every_word_has_hangul() -> None:
    assert [word for word in english_of("ko") if not HANGUL.search(word)] == []


def test_particles_and_request_phrases_are_stopwords() -> None:
    particles = {"을", "를", "이", "가", "은", "는", "에", "에서", "로", "으로", "까지", "한테"}
    phrases = {"좀", "제발", "해줘", "해 줘", "해주세요", "해 주세요", "하고 싶어", "알려줘", "부탁해"}
    assert particles | phrases <= {*stopwords("ko")}


def test_important_words_mean_the_right_thing() -> None:
    expected = """
보내 = send
전송 = send
삭제 = delete
지우 = delete
지워 = delete
찾아 = find
검색 = search
예약 = book
취소 = cancel
일정 = event
회의 = meeting
회의 잡아 = meeting
미뤄 = postpone
첨부파일 = attachment
안 읽은 = unread
답장 = reply
이메일 = email
카톡 = message
할 일 = todo
폴더 = folder
엑셀 = excel
비밀번호 = password
권한 = permission
청구서 = invoice
환불 = refund
환율 = exchange rate
주가 = stock price
택배 = package
재고 = inventory
배달 = food delivery
택시 = taxi
항공권 = flight
호텔 = hotel
날씨 = weather
미세먼지 = air quality
근처 = nearby
길찾기 = directions
연차 = leave
이력서 = resume
깃허브 = github
풀리퀘 = pull request
배포 = deploy
서버 = server
로그 = log
데이터베이스 = database
막대그래프 = bar chart
번역 = translate
요약 = summarize
자막 = subtitle
에어컨 = air conditioner
켜줘 = turn on
꺼줘 = turn off
진료 예약 = medical appointment
걸음 수 = steps
계약서 = contract
쿠폰 = coupon
큐알코드 = qr code
감사 = audit
"""
    assert without_meaning("ko", expected) == []


@pytest.mark.parametrize(
    "forms",
    [
        "보내, 보낸, 보낼, 보냅, 보냈, 보내줘, 보내 줘",
        "지우, 지운, 지울, 지워, 지웠",
        "만들, 만드는, 만든, 만듭, 만들어",
        "고르, 고른, 골라, 골랐",
        "찾아, 찾고, 찾는, 찾은, 찾았, 찾기",
        "첨부파일, 첨부 파일",
        "할 일, 할일",
        "다음 주, 다음주",
        "메시지, 메세지",
        "스케줄, 스케쥴",
        "렌터카, 렌트카",
        "캡처, 캡쳐",
        "디렉터리, 디렉토리",
        "애플리케이션, 어플리케이션, 어플, 앱",
        "릴리스, 릴리즈",
        "휴대폰, 핸드폰, 스마트폰, 휴대전화",
        "비밀번호, 비번, 패스워드, 암호",
        "구글 드라이브, 구글드라이브",
    ],
)
def test_forms_and_spellings_mean_the_same(forms: str) -> None:
    assert without_shared_meaning("ko", forms) == []


def test_every_spaced_compound_stands_without_its_space() -> None:
    words = english_of("ko")
    assert [word for word in words if " " in word and word.replace(" ", "") not in {*words, *stopwords("ko")}] == []


@pytest.mark.parametrize("ending", ["도록", "인가", "전한", "들을", "정한", "보자", "주시"])
def test_an_ending_is_no_word(ending: str) -> None:
    assert ending not in english_of("ko")
