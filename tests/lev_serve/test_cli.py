"""The options of lev-serve."""

import pytest
from refusals import refuses
from serving import cli


@pytest.mark.parametrize(
    "flags",
    [
        *["--port 70000", "--timeout -1", "--timeout inf", "--host 192.0.2.1", "--port {}"],
        *["--allowed-host a*", "--allowed-host a:80"],
    ],
)
def test_options_that_cannot_be_used_are_refused_before_the_model_is_loaded(flags):
    with cli.listen("127.0.0.1", 0) as listening:
        flags = flags.format(listening.getsockname()[1])
        with refuses(flags):
            cli.main(["--path", "nowhere.pt", *flags.split()])


@pytest.mark.parametrize("token", ["", "short", "a space, and enough letters", "é" * 20])
def test_a_token_that_is_no_secret_is_refused(tmp_path, monkeypatch, token):
    file = tmp_path / "token"
    file.write_text(f"{token}\n", "utf-8")
    with refuses(str(file)):
        cli.main(["--path", "nowhere.pt", "--token-file", str(file)])
    monkeypatch.setenv(cli.TOKEN, token)
    with refuses(cli.TOKEN):
        cli.main(["--path", "nowhere.pt"])


def test_a_token_is_taken_from_a_file_before_the_environment(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("a-token-of-a-file\n")
    monkeypatch.setenv(cli.TOKEN, "a-token-of-the-environment")
    assert cli.fixed_token(str(file)) == "a-token-of-a-file"
    assert cli.fixed_token(None) == "a-token-of-the-environment"
    monkeypatch.delenv(cli.TOKEN)
    assert cli.fixed_token(None) is None
