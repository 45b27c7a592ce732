"""Secrets as they turn up in recorded work: what providers document, in the places where people leave them."""

import base64
import json
from urllib.parse import quote

from secret_corpus.made_up import (
    ALNUM,
    BASE64,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    WORDY,
    Planted,
    made_up,
    plant,
)


def _block(label: str, name: str, lines: int = 6) -> tuple[str, tuple[str, ...]]:
    rows = tuple(made_up(f"{name}{row}", 64, BASE64) for row in range(lines))
    edge = "-" * 5
    return "\n".join([f"{edge}BEGIN {label}{edge}", *rows, f"{edge}END {label}{edge}"]), rows


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _url_b64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def known_families() -> list[Planted]:
    """The families that must be caught, each in a place of its own."""
    jwt_head = _url_b64({"alg": "HS256", "typ": "JWT"})
    jwt_body = _url_b64({"sub": "1234567890", "name": "Ada", "scope": "admin"})
    jwt_sign = made_up("jwt", 43, WORDY)
    pem, pem_rows = _block("RSA PRIVATE KEY", "rsa")
    ssh, ssh_rows = _block("OPENSSH PRIVATE KEY", "ssh")
    escaped = ssh.replace("\n", "\\n")
    return [
        plant("aws id", "aws_access_key_id = {}", "AKIA" + made_up("aws", 16, UPPER)),
        plant("aws id of a session", "using {} from the metadata service", "ASIA" + made_up("sts", 16, UPPER)),
        plant("aws secret", "aws_secret_access_key = {}", made_up("awssecret", 40, BASE64)),
        plant("aws session", "export AWS_SESSION_TOKEN={}", "IQoJ" + made_up("session", 300, BASE64) + "=="),
        plant(
            "github in a remote",
            "origin\thttps://{}@github.com/acme/tools.git (fetch)",
            "gh" + "p_" + made_up("ghp", 36),
        ),
        plant("github oauth", "✓ Logged in; token: {}", "gh" + "o_" + made_up("gho", 36)),
        plant("github app", "GH_TOKEN is {}.", "gh" + "s_" + made_up("ghs", 36)),
        plant(
            "github fine-grained",
            "curl -H 'Accept: application/json' -H 'Authorization: token {}' https://api.github.com/user",
            "github" + "_pat_" + made_up("pat1", 22) + "_" + made_up("pat2", 59),
        ),
        plant("gitlab", "git clone https://oauth2:{}@gitlab.example/a/b.git", "glp" + "at-" + made_up("gl", 20, WORDY)),
        plant("slack bot", "SLACK={}", "xo" + "xb-" + made_up("x1", 12, DIGITS) + "-" + made_up("x2", 24)),
        plant(
            "slack app",
            "socket mode with {} on",
            "xa" + "pp-1-A" + made_up("x3", 10, UPPER) + "-" + made_up("x4", 64, HEX),
        ),
        plant("stripe live", "Stripe.api_key = '{}'", "sk_" + "live_" + made_up("stripe", 24)),
        plant("stripe restricted", "charge with {} failed", "rk_" + "live_" + made_up("rk", 99)),
        plant("npm", "//registry.example/:_authToken={}", "np" + "m_" + made_up("npm", 36)),
        plant(
            "pypi", "twine upload -u __token__ -p {} dist/*", "py" + "pi-AgEIcHlwaS5vcmc" + made_up("pypi", 160, WORDY)
        ),
        plant("jwt", "id={} expires soon", f"{jwt_head}.{jwt_body}.{jwt_sign}"),
        Planted("rsa key", pem_rows, f"$ cat server.key\n{pem}\n$"),
        Planted("ssh key escaped in json", ssh_rows, f'{{"stdout": "{escaped}\\n", "code": 0}}'),
        plant(
            "azure storage",
            "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",
            made_up("azure", 86, BASE64) + "==",
        ),
        plant("password in an address", "DATABASE_URL=postgresql://app:{}@db.internal:5432/app", made_up("db", 14)),
        plant("password without user", "redis://:{}@cache.internal:6379/0", made_up("redis", 20)),
        plant("hugging face", "huggingface-cli login --token {}", "h" + "f_" + made_up("hf", 34)),
        plant("openai", "OpenAI(api_key='{}')", "s" + "k-" + made_up("oa", 20) + "T3Blbk" + "FJ" + made_up("oa2", 20)),
        plant("openai project", "key {} has no credit", "sk-" + "proj-" + made_up("proj", 120, WORDY)),
        plant("openai service", "{}", "sk-" + "svcacct-" + made_up("svc", 60, WORDY)),
        plant("anthropic", '"x-api-key": "{}"', "sk-" + "ant-api03-" + made_up("ant", 93, WORDY) + "AA"),
        plant("openrouter", "OPENROUTER: {}", "sk-" + "or-v1-" + made_up("or", 64, HEX)),
        plant("google", "https://maps.example/api?key={}&q=a", "AI" + "za" + made_up("google", 35, WORDY)),
        plant("fireworks", "fireworks {} in the shell history", "f" + "w_" + made_up("fw", 24)),
        plant("groq", 'client = Groq(api_key="{}")', "gs" + "k_" + made_up("groq", 52)),
        plant("xai", "grok via {}", "xa" + "i-" + made_up("xai", 80)),
        plant("nvidia", "ngc {}", "nva" + "pi-" + made_up("nv", 64, WORDY)),
        plant("replicate", "REPLICATE {}", "r" + "8_" + made_up("r8", 37)),
        plant("perplexity", "sonar with {}", "pp" + "lx-" + made_up("pplx", 48, HEX)),
        plant("bearer", "> Authorization: Bearer {}", made_up("bearer", 40, WORDY)),
        plant("basic", "authorization: Basic {}", _b64("admin:" + made_up("basic", 12))),
        plant("api-key header", "curl https://models.example/v1 -H 'api-key: {}'", made_up("header", 32, HEX)),
        plant("cookie", "Cookie: theme=dark; sessionid={}; csrftoken={}", made_up("c1", 32, LOWER), made_up("c2", 64)),
        plant(
            "header in escaped json",
            '{{\\"headers\\": {{\\"Authorization\\": \\"Bearer {}\\", \\"X-Api-Key\\": \\"{}\\"}}}}',
            made_up("esc", 36, WORDY),
            made_up("esc2", 30),
        ),
        plant("quoted with spaces", 'password = "{}"', "correct horse 42 battery staple"),
    ]


def beyond() -> list[Planted]:
    """Other families and other places."""
    pgp, pgp_rows = _block("PGP PRIVATE KEY BLOCK", "pgp")
    ec, ec_rows = _block("EC PRIVATE KEY", "ec", 2)
    account, account_rows = _block("PRIVATE KEY", "gcp", 8)
    password = made_up("userpass", 16)
    docker_auth = _b64("acme:" + made_up("dockerpass", 18))
    cluster_key = _b64(_block("RSA PRIVATE KEY", "kube", 3)[0])
    sas = made_up("sas", 42, BASE64) + "+/="
    twice = json.dumps(json.dumps({"env": {"SERVICE_TOKEN": made_up("twice", 40)}}))
    return [
        plant("gitlab runner", "gitlab-runner register --token {}", "glr" + "t-" + made_up("glrt", 20, WORDY)),
        plant("gitlab deploy", "deploy user gitlab+1 / {}", "gld" + "t-" + made_up("gldt", 20, WORDY)),
        plant("gitlab job", "CI_JOB_TOKEN: {}", "glc" + "bt-64_" + made_up("glcbt", 20, WORDY)),
        plant("gitlab trigger", "-F token={} -F ref=main", "glp" + "tt-" + made_up("glptt", 40, HEX)),
        plant("gitlab feed", "atom?feed_token={}", "glf" + "t-" + made_up("glft", 20, WORDY)),
        plant("gitlab agent", "helm --set config.token={}", "glage" + "nt-" + made_up("glagent", 50, WORDY)),
        plant("stripe webhook", "endpoint secret {} set", "wh" + "sec_" + made_up("whsec", 32)),
        plant(
            "slack webhook",
            "curl -d '{{}}' https://hooks.slack.com/services/T{}/B{}/{}",
            made_up("t", 10, UPPER),
            made_up("b", 10, UPPER),
            made_up("hook", 24),
        ),
        plant("slack rotated", '"token": "{}"', "xo" + "xe.xo" + "xp-1-" + made_up("xoxe", 160)),
        plant("slack refresh", "refresh {}", "xo" + "xe-1-" + made_up("xoxe2", 140)),
        plant(
            "discord bot",
            "client.run('{}')",
            ".".join(["MT" + made_up("d1", 24), made_up("d2", 6, WORDY), made_up("d3", 38, WORDY)]),
        ),
        plant(
            "discord webhook",
            "POST https://discord.com/api/webhooks/1098765432109876543/{}",
            made_up("dhook", 68, WORDY),
        ),
        plant(
            "telegram",
            "https://api.telegram.org/bot{}/getMe",
            made_up("tg", 10, DIGITS) + ":AA" + made_up("tg2", 33, WORDY),
        ),
        plant("twilio", "twilio auth_token: {}", made_up("twilio", 32, HEX)),
        plant("twilio key", "Client({}, secret)", "S" + "K" + made_up("twiliokey", 32, HEX)),
        plant("sendgrid", "mail {} ok", "S" + "G." + made_up("sg1", 22, WORDY) + "." + made_up("sg2", 43, WORDY)),
        plant(
            "mailgun", "curl -s --user 'api:{}' https://api.mailgun.net/v3", "ke" + "y-" + made_up("mailgun", 32, HEX)
        ),
        plant("digitalocean", "doctl auth init -t {}", "do" + "p_v1_" + made_up("do", 64, HEX)),
        plant("databricks", "host=https://x.cloud, {}", "da" + "pi" + made_up("databricks", 32, HEX) + "-2"),
        plant("vault", "Success! token {}", "hv" + "s.CAES" + made_up("vault", 90, WORDY)),
        plant("cloudflare", "CF_API_TOKEN={}", made_up("cf", 40, WORDY)),
        plant("doppler", "doppler run with {}", "dp" + ".pt." + made_up("doppler", 43)),
        plant("notion", "notion {}", "nt" + "n_" + made_up("ntn", 46)),
        plant("linear", "linear {}", "lin" + "_api_" + made_up("linear", 40)),
        plant(
            "atlassian",
            "-u me@acme.example:{}",
            "ATATT" + "3xFfGF0" + made_up("atl", 170, WORDY) + "=" + made_up("atl2", 8, UPPER),
        ),
        plant("docker", "docker login -u acme -p {}", "dck" + "r_pat_" + made_up("docker", 27, WORDY)),
        plant("rubygems", "gem push with {}", "rubyg" + "ems_" + made_up("gems", 48, HEX)),
        plant(
            "azure sas",
            "https://acme.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sp=r&sig={}&se=2030-01-01",
            quote(sas, safe=""),
        ),
        Planted(
            "gcp service account",
            account_rows,
            json.dumps({"type": "service_account", "project_id": "acme-1", "private_key": account + "\n"}, indent=2),
        ),
        Planted("pgp key", pgp_rows, f"gpg --export-secret-keys\n{pgp}"),
        Planted("ec key in yaml", ec_rows, "tls:\n  key: |\n" + "\n".join("    " + row for row in ec.split("\n"))),
        plant("kubeconfig", "users:\n- name: admin\n  user:\n    client-key-data: {}", cluster_key),
        plant("kubeconfig token", "    user:\n      token: {}", made_up("kubetoken", 48, LOWER)),
        plant("netrc", "machine api.acme.example login deploy password {}", made_up("netrc", 18)),
        plant("netrc in lines", "machine api.acme.example\n  login deploy\n  password {}\n", made_up("netrc2", 18)),
        plant("pgpass", "db.internal:5432:app:app_user:{}", made_up("pgpass", 15)),
        plant("docker config", '"auths": {{"registry.acme.example": {{"auth": "{}"}}}}', docker_auth),
        plant("htpasswd", "admin:$apr1$" + "{}", made_up("salt", 8) + "$" + made_up("htpasswd", 22)),
        plant("curl user", "curl -u deploy:{} https://artifacts.acme.example/upload", password),
        plant("token in a query", "GET /v1/items?access_token={}&page=2 200", made_up("query", 32, LOWER)),
        plant("set-cookie", "< Set-Cookie: session={}; HttpOnly; Path=/", made_up("setcookie", 44, WORDY)),
        plant(
            "mongodb",
            "mongodb+srv://app:{}@cluster0.acme.mongodb.net/?retryWrites=true",
            quote("p@ss/" + made_up("mongo", 10), safe=""),
        ),
        plant(
            "ado connection",
            "Server=tcp:sql.acme.example,1433;User ID=sa;Password={};Encrypt=True",
            made_up("sql", 16) + "!x",
        ),
        plant("service bus", "SharedAccessKeyName=Root;SharedAccessKey={}", made_up("bus", 43, BASE64) + "="),
        plant("flag with a space", "deploy --host acme.example --token {} --yes", made_up("flag", 28)),
        plant("flag with equals", "mysqldump --user=root --password={} shop > shop.sql", made_up("flag2", 13)),
        plant("mysql short flag", "mysql -uroot -p{} shop", made_up("mysql", 14)),
        plant("python dict", "{{'user': 'ada', 'password': '{}', 'port': 5432}}", made_up("dict", 12)),
        plant(
            "python repr",
            "Settings(host='db', secret_key='{}', debug=False)",
            made_up("repr", 50, ALNUM + "!@#%^&*(-_=+)"),
        ),
        plant("yaml", "database:\n  password: {}\n  pool: 5", made_up("yaml", 12)),
        plant("toml", 'client_secret = "{}"', made_up("toml", 40, WORDY)),
        plant("shell export", "export DEPLOY_PASSWORD='{}'", made_up("export", 9) + "$%&"),
        plant("environment dump", "HOME=/home/ada\nACME_API_KEY={}\nLANG=C.UTF-8", made_up("envdump", 32)),
        plant("powershell", '$env:ACME_TOKEN = "{}"', made_up("ps", 30)),
        plant("dockerfile", "ENV SIGNING_SECRET {}", made_up("dockerfile", 32)),
        plant("ini with colon", "passwd: {}", made_up("ini", 11)),
        plant("java properties", "spring.datasource.password={}", made_up("spring", 17)),
        plant("xml", "<password>{}</password>", made_up("xml", 16)),
        plant("xml attribute", '<add key="ApiKey" value="{}" />', made_up("xmlattr", 32)),
        plant(
            "escaped twice",
            twice.replace("{", "{{").replace("}", "}}").replace(made_up("twice", 40), "{}"),
            made_up("twice", 40),
        ),
        plant("proxy header", "Proxy-Authorization: Basic {}", _b64("proxy:" + made_up("proxy", 14))),
        plant("private token header", "-H 'PRIVATE-TOKEN: {}'", made_up("private", 20, WORDY)),
        plant("google oauth", "refresh_token {}", "1//0" + made_up("goauth", 60, WORDY)),
        plant("google access", "got {}", "ya29" + ".a0" + made_up("ya29", 150, WORDY)),
        plant("google client", "{} for the web client", "GOC" + "SPX-" + made_up("gocspx", 28, WORDY)),
        plant("azure client", "AZURE_CLIENT_SECRET={}", made_up("az1", 3) + "8Q~" + made_up("az2", 34, WORDY)),
        plant("said in words", "my password is {} if you need it", made_up("words", 14)),
        plant("shopify", "store {}", "shp" + "at_" + made_up("shopify", 32, HEX)),
        plant("age", "{}", "AGE-SECRET-" + "KEY-1" + made_up("age", 58, UPPER)),
        plant("wireguard", "[Interface]\nPrivateKey = {}", made_up("wg", 43, BASE64) + "="),
        plant("terraform", 'token = "{}"', made_up("tf", 14) + ".atlas" + "v1." + made_up("tf2", 64)),
        plant("new relic", "newrelic {}", "NR" + "AK-" + made_up("nr", 27, UPPER)),
        plant("grafana", "grafana {}", "gl" + "sa_" + made_up("glsa", 32) + "_" + made_up("glsa2", 8, HEX)),
        plant("sentry", "sentry {}", "snt" + "rys_" + made_up("sentry", 80, WORDY)),
        plant("cratesio", "cargo login {}", "ci" + "o" + made_up("cio", 32)),
        plant("pulumi", "pulumi {}", "p" + "ul-" + made_up("pulumi", 40, HEX)),
        plant("supabase", "supabase login --token {}", "sb" + "p_" + made_up("sbp", 40, HEX)),
        plant("langsmith", "tracing with {}", "lsv2" + "_pt_" + made_up("ls", 32, HEX) + "_" + made_up("ls2", 10, HEX)),
        plant("tavily", "search by {}", "tvl" + "y-" + made_up("tvly", 32)),
        plant("cerebras", "csk: {}", "cs" + "k-" + made_up("csk", 48, LOWER)),
        plant("vercel", "vercel --token={}", made_up("vercel", 24)),
        plant("heroku", "HEROKU_API_KEY={}", "-".join(made_up(f"h{n}", n, HEX) for n in (8, 4, 4, 4, 12))),
    ]


def all_planted() -> list[Planted]:
    """Every planted secret; names are unique."""
    return known_families() + beyond()
