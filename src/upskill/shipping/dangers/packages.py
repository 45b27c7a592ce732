"""Packages and images from a source that the skill chooses."""

from upskill.shipping.dangers.rule import finder, pattern

_HOME = r"(?:localhost|127\.0\.0\.1|file:|/)"

foreign_source = finder(
    pattern(
        "--index-url --extra-index-url --find-links --trusted-host pip_index_url pip_extra index-url uv_index --default-index",
        rf"--(?:extra-)?index-url[ =][\"']?(?!{_HOME})\S{{4,}}|--find-links[ =][\"']?https?://\S+|--trusted-host[ =]\S+|\b(?:pip|uv)_(?:extra_|default_)?index(?:_url)?=[\"']?https?://(?!{_HOME})|--(?:default-)?index[ =][\"']?https?://(?!{_HOME})|\bindex-url\s*=\s*https?://|\bglobal\.(?:extra-)?index-url\s",
    ),
    pattern(
        "pip pip3 uv pipx",
        r"\b(?:pip3?|uv pip|uv tool|pipx|python[\d.]* -m pip)\s+install\s[^\n]{0,100}?(?:\s-i\s+https?://|https?://\S+\.(?:whl|zip|tar\.gz|tgz)|git\+http://|git\+https?://(?!(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)/))",
    ),
    pattern(
        "--registry registry",
        r"--registry[ =][\"']?https?://\S+|\b(?:npm|yarn|pnpm|bun)\s+config\s+set\s+\S*registry\S*[ =]\S+|\bregistry\s*=\s*[\"']?https?://|\bnpm_config_registry=",
    ),
    pattern(
        "npm npx yarn pnpm bunx",
        r"\b(?:npm|yarn|pnpm|bun)\s+(?:install|i|add)\s[^\n]{0,60}?(?:https?://\S+|git\+\S+)|\b(?:npx|bunx|pnpm dlx)\s+(?:-\w+\s+|--\w+\s+){0,3}(?:https?://|git\+|github:)\S+",
    ),
    pattern(
        "gem cargo go brew composer",
        r"\bgem install\b[^\n]{0,60}--source[ =]\S+|\bcargo install\b[^\n]{0,60}--(?:git|index|registry)[ =]\S+|\bbrew tap\s+\S+\s+https?://|\bgoproxy=https?://|\bgosumdb=off|\bgonosumcheck=|\bgoflags=-insecure",
    ),
    pattern(
        "sources.list apt-key add-apt-repository yum-config-manager deb rpm zypper",
        r"(?<!tee )/etc/apt/sources\.list\S*|\bapt-key add\b|\badd-apt-repository\s+\S+|\byum-config-manager --add-repo|\brpm --import https?://|\bzypper ar\b|\becho\s+[\"']?deb\s(?!\[[^\]\n]{0,60}signed-by=)",
    ),
    pattern(
        "docker podman",
        r"\b(?:docker|podman) run\b[^\n]{0,160}(?:--privileged\b|-v\s+/:/|--volume[ =]/:/|/var/run/docker\.sock)",
    ),
    pattern("--install-extension .vsix", r"--install-extension\s+\S+\.vsix"),
)
