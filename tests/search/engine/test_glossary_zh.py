"""The Chinese glossary and stopwords: important words mean the right thing."""

from __future__ import annotations

import re

import pytest
from tests.glossary_support import (
    english_of,
    stopwords,
    without_meaning,
    without_shared_meaning,
)

from hikidashi.search.engine.analyzer import Analyzer
from hikidashi.search.engine.index import Index, Vocabulary
from hikidashi.search.engine.query import read_query

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


def test_every_word_has_chinese_letters_and_no_spaces() -> None:
    assert [word for word in english_of("zh") if not HAN.search(word) or " " in word] == []


def test_particles_and_request_phrases_are_stopwords() -> None:
    particles = {"的", "了", "吗", "嗎", "呢", "吧"}
    phrases = {"请", "請", "帮我", "幫我", "一下", "我想", "可以", "麻烦", "麻煩", "谢谢", "謝謝"}
    assert particles | phrases <= {*stopwords("zh")}


def test_important_words_mean_the_right_thing() -> None:
    expected = """
发送 = send
寄 = send
发一封 = send
发文件 = file
删掉 = delete
查一下 = search
转给 = forward
帮我订 = book
取消 = cancel
安排 = schedule
改期 = reschedule
邮件 = email
附件 = attachment
未读邮件 = unread
未读邮件 = email
群聊 = chat
老板 = boss
会议 = meeting
日历 = calendar
下周三 = wednesday
待办 = todo
文件 = file
文件夹 = folder
表格 = spreadsheet
密码 = password
权限 = permission
发票 = invoice
退款 = refund
汇率 = exchange rate
股票 = stock
快递 = package
库存 = inventory
外卖 = food delivery
打车 = taxi
机票 = flight
酒店 = hotel
高铁 = train
天气 = weather
附近 = nearby
怎么走 = directions
年假 = leave
简历 = resume
仓库 = repository
合并请求 = pull request
分支 = branch
部署 = deploy
服务器 = server
日志 = log
数据库 = database
柱状图 = bar chart
翻译 = translate
总结 = summarize
字幕 = subtitle
空调 = air conditioner
挂号 = medical appointment
步数 = steps
公里 = kilometer
合同 = contract
优惠券 = coupon
二维码 = qr code
"""
    assert without_meaning("zh", expected) == []


@pytest.mark.parametrize(
    "forms",
    [
        "发送, 發送, 寄给, 寄給",
        "文件, 檔案",
        "文件夹, 資料夾, 资料夹",
        "软件, 軟體, 軟件",
        "网络, 網路, 網絡",
        "视频, 影片, 視頻",
        "打印, 列印",
        "信息, 資訊",
        "短信, 簡訊",
        "数据库, 資料庫",
        "服务器, 伺服器",
        "出租车, 計程車, 的士",
        "地铁, 捷運",
        "日历, 行事曆, 日曆",
        "复制, 複製, 拷貝",
        "理发, 理髮",
        "面条, 麵條",
        "周五, 週五, 星期五, 礼拜五, 禮拜五",
        "帐号, 帳號, 賬號",
        "内存, 記憶體",
        "屏幕, 螢幕",
        "代码, 程式碼",
        "年假, 特休",
        "多少钱, 幾錢",
    ],
)
def test_simplified_traditional_and_regional_words_mean_the_same(forms: str) -> None:
    assert without_shared_meaning("zh", forms) == []


@pytest.mark.parametrize("word", ["会", "封", "约", "等", "周", "号", "群", "个", "信", "云"])
def test_a_letter_that_stands_inside_other_words_is_no_word(word: str) -> None:
    assert word not in english_of("zh")


@pytest.mark.parametrize(
    ("text", "border"),
    [("上新建", "上新"), ("一個資料夾", "個資"), ("用电脑", "用电"), ("在地图上", "在地"), ("这个数据", "个数")],
)
def test_no_word_is_read_across_the_border_of_two_common_ones(text: str, border: str) -> None:
    assert border in text
    assert border not in english_of("zh")


def test_the_words_that_no_tool_has_come_in_the_order_of_the_question() -> None:
    query = read_query("鼎的簋的钺的璧的琮", Vocabulary(Index(), Analyzer()))
    assert query.missing == ["鼎", "簋", "钺", "璧", "琮"]
