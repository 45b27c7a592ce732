"""Forms unknown when the patterns were written: taken from public lists and reports afterwards."""

import base64

from secret_corpus.made_up import BASE64, HEX, LOWER, UPPER, WORDY, Planted, made_up, plant


def _uuid(name: str) -> str:
    return "-".join(made_up(f"{name}{length}", length, HEX) for length in (8, 4, 4, 4, 12))


def shapes() -> list[Planted]:
    """Tokens of providers, as a public list of shapes has them."""
    head, body = (
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"42","role":"admin"}')
    )
    jwt = f"{head}.{body}.{made_up('j', 43, WORDY)}"
    return [
        plant("intra42", "secret for the app: {}", "s-s4t2" + "ud-" + made_up("42", 64, HEX)),
        plant("jfrog key", "jfrog rt ping --apikey {}", "AKC" + made_up("jfrog", 70)),
        plant("jwt in base64", "cookie jar holds {}", base64.b64encode(jwt.encode()).decode()),
        plant("kraken", "KRAKEN_ACCESS={}", made_up("kraken", 86, BASE64)),
        plant("kucoin", "kucoin secret-key: {}", _uuid("kucoin")),
        plant("launchdarkly", "LAUNCHDARKLY_ACCESS_TOKEN = {}", "api-" + _uuid("ld")),
        plant("linkedin", "linkedin_client_secret: {}", made_up("linkedin", 16)),
        plant("lob", "lob {}", "live_" + made_up("lob", 35, HEX)),
        plant("looker", "looker_client_secret={}", made_up("looker", 24, LOWER)),
        plant("mailgun signing", "mailgun_signing_key = '{}'", "-".join(made_up(f"mg{n}", n, HEX) for n in (32, 8, 9))),
        plant(
            "mapbox", "mapboxgl.accessToken = '{}'", "pk" + "." + "ey" + made_up("mb", 58) + "." + made_up("mb2", 22)
        ),
        plant("mattermost", "mattermost: {}", made_up("mm", 26, LOWER)),
        plant("maxmind", "GeoIP with {}", made_up("mmk1", 6) + "_" + made_up("mmk2", 29) + "_mmk"),
        plant("messagebird", "MESSAGEBIRD_API_TOKEN={}", made_up("bird", 25)),
        plant("netlify", "netlify deploy --auth {}", "nfp_" + made_up("netlify", 36)),
        plant("nuget", '<add key="ClearTextPassword" value="{}" />', made_up("nuget", 20)),
        plant("octopus", "octo push with {}", "AP" + "I-" + made_up("octo", 26, UPPER)),
        plant("okta", "okta = {}", "00" + made_up("okta", 40, WORDY)),
        plant("openshift", "oc login --token={}", "sha256~" + made_up("oc", 43, WORDY)),
        plant("plaid", "plaid {}", "access-" + "production-" + _uuid("plaid")),
        plant("prefect", "prefect cloud login -k {}", "pn" + "u_" + made_up("prefect", 36)),
        plant("rapidapi", "X-RapidAPI-Key: {}", made_up("rapid", 50, LOWER)),
        plant("readme", "rdme docs --key={}", "rd" + "me_" + made_up("rdme", 70, LOWER)),
        plant("scalingo", "scalingo login {}", "tk-" + "us-" + made_up("sc", 48, WORDY)),
        plant("sendinblue", "brevo {}", "xkey" + "sib-" + made_up("xk", 64, HEX) + "-" + made_up("xk2", 16)),
        plant("settlemint", "settlemint {}", "sm_" + "pat_" + made_up("sm", 16)),
        plant("shippo", "shippo {}", "shippo_" + "live_" + made_up("shippo", 40, HEX)),
        plant("sidekiq", "bundle config gems.acme.example {}", made_up("sk1", 8, HEX) + ":" + made_up("sk2", 8, HEX)),
        plant(
            "sidekiq address", "https://{}@gems.acme.example/", made_up("sk3", 8, HEX) + ":" + made_up("sk4", 8, HEX)
        ),
    ]


def places() -> list[Planted]:
    """Where public reports say that secrets came to light."""
    return [
        plant(
            "single dash flag", "Arguments: -host mw -port 8000 -username admin -password {} -ssl", made_up("dash", 10)
        ),
        plant("keystore flag", "-keystore_passwd {} -truststore_path /etc/t", made_up("keystore", 12)),
        plant("set aloud", "Setting environment variable: RD_OPTION_SECRET={}", made_up("rd", 14)),
        plant("mask command", "::add-mask::{}", made_up("mask", 24)),
        plant(
            "deployment token", "deploy --env default --no-use-keychain --deployment-token {}", made_up("swa", 64, HEX)
        ),
        plant("rust debug", 'DbfsCore {{ root: "/", endpoint: "https://x", token: Some("{}") }}', made_up("dbfs", 36)),
        plant("go struct", "&{{Host:db User:app Password:{} Port:5432}}", made_up("go", 12)),
        plant(
            "java toString",
            "Credentials{{user='ada', password='{}', tokens=Tokens{{accessToken='{}'}}}}",
            made_up("jv", 11),
            made_up("jv2", 40),
        ),
        plant(
            "kubernetes secret",
            "kind: Secret\ndata:\n  username: dXNlcg==\n  password: {}",
            base64.b64encode(made_up("k8s", 12).encode()).decode(),
        ),
        plant("dev password", "DATABASE_PASSWORD={}", "local_dev_password"),
        plant("dev secret", "JWT_SECRET={}", "dev-secret-not-for-production"),
        plant("mqtt", '{{"userName":"u1","pwdInfo":"{}"}}', made_up("mqtt", 16)),
        plant("authorization code", "GET /callback?code={}&state=xyz", made_up("code", 40, WORDY)),
        plant("environment list", '"env": [{{"name": "DB_PASSWORD", "value": "{}"}}]', made_up("envlist", 18)),
        plant("environment yaml", "env:\n  - name: API_TOKEN\n    value: {}", made_up("envyaml", 28)),
        plant("docker run", "docker run -e POSTGRES_PASSWORD={} -p 5432:5432 postgres", made_up("drun", 9)),
        plant("wget", "wget --http-user=ada --http-password={} https://acme.example/f", made_up("wget", 11)),
        plant("login form", "username=ada&password={}&remember=1", made_up("form", 10)),
        plant("ansible", "ansible_become_pass: {}", made_up("ansible", 10)),
        plant("smtp", "AUTH PLAIN {}", base64.b64encode(b"\0ada\0" + made_up("smtp", 12).encode()).decode()),
    ]


def held_apart() -> list[Planted]:
    """All of them."""
    return shapes() + places()


def second_list() -> list[Planted]:
    """Forms read after the mending; nothing was changed for them."""
    return [
        plant("snyk", "SNYK_TOKEN={}", _uuid("snyk")),
        plant("sonar", "sonar.login={}", "sq" + "u_" + made_up("sonar", 40, HEX)),
        plant("sourcegraph", "src login with {}", "sg" + "p_" + made_up("sgp", 40, HEX)),
        plant("sourcegraph local", "src login with {}", "sg" + "p_local_" + made_up("sgpl", 40, HEX)),
        plant("square", "square {}", "sq0" + "atp-" + made_up("sq0", 22, WORDY)),
        plant("squarespace", "squarespace_api_key: {}", _uuid("squarespace")),
        plant("sumologic", "SUMO_ACCESS_KEY={}", made_up("sumo", 64)),
        plant("travis", "travis login --github-token {}", made_up("travis", 22)),
        plant("twitch", "twitch_client_secret = {}", made_up("twitch", 30, LOWER)),
        plant("twitter", "twitter_access_token_secret: {}", made_up("tw", 45)),
        plant("twitter access", "twitter: {}", "1234567890123456-" + made_up("tw2", 30)),
        plant("twitter bearer", "twitter bearer {}", "A" * 22 + made_up("tw3", 90)),
        plant("typeform", "typeform {}", "tf" + "p_" + made_up("tfp", 59, LOWER)),
        plant("old vault", "vault login {}", "s." + made_up("oldvault", 24)),
        plant("yandex", "yandex {}", "AQ" + "VN" + made_up("yandex", 36, WORDY)),
        plant("yandex token", "yc {}", "t1." + made_up("yc", 60, WORDY) + "." + made_up("yc2", 86, WORDY)),
        plant("zendesk", "zendesk_secret_key={}", made_up("zendesk", 40, LOWER)),
        plant("slack legacy", "bot {}", "xo" + "xb-" + made_up("xb", 10, "0123456789") + "-" + made_up("xb2", 20)),
    ]
