//! Every kind of secret, one row each. To add one, add a row: the tests put its example everywhere that people put
//! keys.
//!
//! No row holds a secret: examples have slots that are filled when they are needed (`canary.rs`), so redacting our own
//! sources changes nothing.

use super::assigned::Promise::{self, Chosen, Cookies, Generated, Login, Nickname};
use super::bytes::Alphabet::{self, Base32, Base62, Base64, Base64Url, Dotted, Encoded, Hex};
use super::commands::Taking::{self, Any, Attached, UserAnd};
use super::prefixed::Check::{self, HexCrc, Jumbled, Mnemon, NotExample, Random};
use super::prefixed::Prefixed;
use super::shaped::*;
use super::urls;
use super::{Finding, view::View};

/// One kind of secret, in one of its forms.
pub(super) struct SecretKind {
    /// The name, as it appears in `[redacted:<kind>]`.
    pub(super) kind: &'static str,
    pub(super) form: Form,
    /// Texts with such a secret. `{a33}` are 33 letters and digits, `{h32}` hexadecimal ones; `canary.rs` has all
    /// slots. The secret is between `‹` and `›`; without these marks the whole text is one.
    pub(super) examples: &'static [&'static str],
}

/// How a kind is known.
pub(super) enum Form {
    /// By its first characters. An example is made of them.
    Prefix(Prefixed),
    /// By a shape: anchors, in small letters, and the matcher that they call.
    Shape(&'static [&'static str], Matcher),
    /// By the matcher of the row above.
    Above,
    /// By the name that it is given to.
    Given(&'static [&'static str], Promise),
    /// By the flags of commands.
    Flag(&'static [&'static str], &'static [&'static str], Taking),
}

impl Form {
    /// What the automaton looks for.
    pub(super) fn anchors(&self) -> &[&'static str] {
        match self {
            Form::Prefix(row) => std::slice::from_ref(&row.prefix),
            Form::Above => &[],
            Form::Shape(anchors, _) | Form::Given(anchors, _) | Form::Flag(anchors, ..) => anchors,
        }
    }
}

/// What a matcher is given: the text and where its anchor starts.
pub(super) type Matcher = fn(&View<'_>, usize) -> Option<Finding>;

type Texts = &'static [&'static str];

/// A prefix, then a tail of one alphabet whose length lies within bounds and that passes a check.
const fn key(
    kind: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
    check: Check,
) -> SecretKind {
    SecretKind { kind, form: Form::Prefix(Prefixed { kind, prefix, alphabet, least, most, check }), examples: &[] }
}

const fn shape(kind: &'static str, anchors: Texts, matcher: Matcher, examples: Texts) -> SecretKind {
    SecretKind { kind, form: Form::Shape(anchors, matcher), examples }
}

/// A further kind that the matcher of the row above distinguishes.
const fn also(kind: &'static str, examples: Texts) -> SecretKind {
    SecretKind { kind, form: Form::Above, examples }
}

const fn given(kind: &'static str, names: Texts, promise: Promise, examples: Texts) -> SecretKind {
    SecretKind { kind, form: Form::Given(names, promise), examples }
}

const fn flag(kind: &'static str, flags: Texts, commands: Texts, taking: Taking, examples: Texts) -> SecretKind {
    SecretKind { kind, form: Form::Flag(flags, commands, taking), examples }
}

/// All of them. Where one prefix begins another, the longer comes first.
#[rustfmt::skip]
pub(super) const KINDS: &[SecretKind] = &[
    // Before the id itself, which hides its place from the rows below.
    shape("aws-secret-key", &["akia", "asia", "abia", "[redacted:aws-access-key-id]"], aws_secret_beside, &["AKIA{u16} / ‹{s40}›", "key id AKIA{u16}, and\nthe secret is ‹{s40}›"]),

    // Known by their first characters.
    key("mnemon-key", "mnm_", Base62, 49, 49, Mnemon),
    key("mnemon-oauth-token", "mno_", Base62, 49, 49, Mnemon),
    key("mnemon-operator-token", "mnp_", Base62, 49, 49, Mnemon),
    key("mnemon-link", "mnl_", Base62, 49, 49, Mnemon),
    key("github-token", "ghp_", Base62, 36, 255, Random),
    key("github-token", "gho_", Base62, 36, 255, Random),
    key("github-token", "ghu_", Base62, 36, 255, Random),
    key("github-token", "ghs_", Dotted, 36, 600, Random),
    key("github-token", "ghr_", Base62, 36, 255, Random),
    key("github-fine-grained-token", "github_pat_", Base64Url, 60, 255, Random),
    key("gitlab-token", "glpat-", Dotted, 20, 300, Random),
    key("gitlab-token", "gldt-", Base64Url, 20, 64, Random),
    key("gitlab-token", "glrt-", Dotted, 20, 300, Random),
    key("gitlab-token", "glptt-", Base64Url, 20, 64, Random),
    key("gitlab-token", "glcbt-", Base64Url, 20, 80, Random),
    key("gitlab-token", "gloas-", Base64Url, 32, 80, Random),
    key("gitlab-token", "glft-", Base64Url, 20, 64, Random),
    key("gitlab-token", "glsoat-", Base64Url, 20, 64, Random),
    key("gitlab-token", "glimt-", Base64Url, 20, 64, Random),
    key("gitlab-token", "glagent-", Base64Url, 20, 64, Random),
    key("aws-access-key-id", "AKIA", Base32, 16, 16, NotExample),
    key("aws-access-key-id", "ASIA", Base32, 16, 16, NotExample),
    key("aws-access-key-id", "ABIA", Base32, 16, 16, NotExample),
    key("aws-bedrock-key", "ABSK", Base64, 100, 200, Random),
    key("alibaba-access-key", "LTAI", Base62, 16, 24, Random),
    key("google-api-key", "AIza", Base64Url, 35, 35, Random),
    key("google-oauth-token", "ya29.", Base64Url, 24, 1200, Random),
    key("google-oauth-secret", "GOCSPX-", Base64Url, 28, 28, Random),
    key("anthropic-key", "sk-ant-", Base64Url, 40, 200, Random),
    key("openrouter-key", "sk-or-v1-", Hex, 64, 64, Random),
    key("langfuse-key", "sk-lf-", Base64Url, 36, 36, Random),
    key("openai-key", "sk-proj-", Base64Url, 40, 220, Random),
    key("openai-key", "sk-svcacct-", Base64Url, 40, 220, Random),
    key("openai-key", "sk-admin-", Base64Url, 40, 220, Random),
    key("openai-key", "sk-", Base62, 32, 80, Random),
    key("huggingface-token", "hf_", Base62, 34, 40, Random),
    key("replicate-token", "r8_", Base62, 37, 40, Random),
    key("groq-key", "gsk_", Base62, 48, 60, Random),
    key("perplexity-key", "pplx-", Base62, 48, 64, Random),
    key("xai-key", "xai-", Base62, 70, 100, Random),
    key("pinecone-key", "pcsk_", Base64Url, 60, 90, Random),
    key("stripe-key", "sk_live_", Base62, 24, 247, Random),
    key("stripe-key", "sk_test_", Base62, 24, 247, Random),
    key("stripe-key", "rk_live_", Base62, 24, 247, Random),
    key("stripe-key", "rk_test_", Base62, 24, 247, Random),
    key("stripe-webhook-secret", "whsec_", Base64, 32, 64, Random),
    key("slack-token", "xoxb-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxp-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxa-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxr-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxs-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxe.", Dotted, 40, 255, Random),
    key("slack-token", "xoxc-", Base64Url, 40, 255, Random),
    key("slack-token", "xoxd-", Encoded, 40, 400, Random),
    key("slack-app-token", "xapp-", Base64Url, 40, 255, Random),
    key("twilio-key", "SK", Hex, 32, 32, Random),
    key("mailgun-key", "key-", Hex, 32, 32, Random),
    key("brevo-key", "xkeysib-", Base64Url, 64, 100, Random),
    key("npm-token", "npm_", Base62, 36, 36, Random),
    key("pypi-token", "pypi-AgE", Base64Url, 60, 400, Random),
    key("rubygems-token", "rubygems_", Hex, 48, 48, Random),
    key("crates-token", "cio", Base62, 32, 32, Random),
    key("docker-token", "dckr_pat_", Base64Url, 27, 40, Random),
    key("docker-token", "dckr_oat_", Base64Url, 27, 40, Random),
    key("digitalocean-token", "dop_v1_", Hex, 64, 64, Random),
    key("digitalocean-token", "doo_v1_", Hex, 64, 64, Random),
    key("digitalocean-token", "dor_v1_", Hex, 64, 64, Random),
    key("heroku-key", "HRKU-", Base64Url, 36, 70, Random),
    key("cloudflare-origin-key", "v1.0-", Base64Url, 140, 200, Random),
    key("vault-token", "hvs.", Base64Url, 24, 300, Random),
    key("vault-token", "hvb.", Base64Url, 24, 300, Random),
    key("vault-token", "hvr.", Base64Url, 24, 300, Random),
    key("databricks-token", "dapi", Hex, 32, 32, Random),
    key("shopify-token", "shpat_", Hex, 32, 32, Random),
    key("shopify-token", "shpca_", Hex, 32, 32, Random),
    key("shopify-token", "shppa_", Hex, 32, 32, Random),
    key("shopify-token", "shpss_", Hex, 32, 32, Random),
    key("square-token", "sq0atp-", Base64Url, 22, 22, Random),
    key("square-token", "sq0csp-", Base64Url, 43, 43, Random),
    key("facebook-token", "EAACEdEose0cBA", Base62, 20, 300, Random),
    key("linear-key", "lin_api_", Base62, 40, 40, Random),
    key("notion-token", "ntn_", Base62, 43, 60, Random),
    key("notion-token", "secret_", Base62, 43, 43, Random),
    key("figma-token", "figd_", Base64Url, 40, 50, Random),
    key("grafana-token", "glsa_", Base64Url, 41, 41, HexCrc),
    key("grafana-token", "glc_", Base64, 32, 400, Random),
    key("newrelic-key", "NRAK-", Base62, 27, 27, Random),
    key("sentry-token", "sntrys_", Encoded, 60, 500, Random),
    key("sentry-token", "sntryu_", Hex, 64, 64, Random),
    key("dynatrace-token", "dt0c01.", Dotted, 89, 89, Random),
    key("postman-key", "PMAK-", Base64Url, 59, 59, Random),
    key("planetscale-token", "pscale_tkn_", Dotted, 32, 64, Random),
    key("planetscale-token", "pscale_pw_", Dotted, 32, 64, Random),
    key("planetscale-token", "pscale_oauth_", Dotted, 32, 64, Random),
    key("supabase-token", "sbp_", Hex, 40, 40, Random),
    key("supabase-token", "sb_secret_", Base64Url, 31, 64, Random),
    key("doppler-token", "dp.pt.", Base62, 40, 44, Random),
    key("doppler-token", "dp.st.", Dotted, 40, 64, Random),
    key("age-secret-key", "AGE-SECRET-KEY-1", Base62, 58, 58, Random),
    key("atlassian-token", "ATATT3xFfGF0", Dotted, 100, 300, Random),
    key("bitbucket-token", "ATBB", Base62, 32, 40, Random),
    key("dropbox-token", "sl.", Base64Url, 130, 2000, Random),
    key("circleci-token", "CCIPAT_", Base64Url, 40, 80, Random),
    key("circleci-token", "CCIPRJ_", Base64Url, 40, 80, Random),
    key("buildkite-token", "bkua_", Hex, 40, 40, Random),
    key("fly-token", "fo1_", Base64Url, 43, 60, Random),
    key("fly-token", "fm2_", Base64, 100, 1500, Random),
    key("tailscale-key", "tskey-", Base64Url, 24, 80, Random),
    key("onepassword-token", "ops_eyJ", Base64Url, 200, 2000, Random),
    key("jfrog-token", "AKCp", Base62, 66, 80, Random),
    key("mapbox-token", "sk.eyJ", Dotted, 60, 200, Random),
    key("elastic-key", "essu_", Base64, 40, 120, Random),
    key("netlify-token", "nfp_", Base62, 36, 40, Random),
    key("typeform-token", "tfp_", Base64Url, 40, 70, Random),
    key("easypost-key", "EZAK", Base62, 54, 54, Random),
    key("duffel-token", "duffel_live_", Base64Url, 43, 43, Random),
    key("sonar-token", "squ_", Hex, 40, 40, Random),
    key("sonar-token", "sqp_", Hex, 40, 40, Random),
    key("readme-key", "rdme_", Base62, 70, 70, Random),
    key("prefect-key", "pnu_", Base62, 36, 36, Random),
    key("pulumi-token", "pul-", Hex, 40, 40, Random),
    key("nvidia-key", "nvapi-", Base64Url, 60, 80, Random),
    key("tavily-key", "tvly-", Base64Url, 28, 64, Random),
    key("langsmith-key", "lsv2_", Base64Url, 40, 64, Random),
    key("vercel-token", "vcp_", Base62, 24, 100, Random),
    key("posthog-key", "phx_", Base62, 40, 64, Random),
    key("discord-token", "mfa.", Base64Url, 84, 84, Random),
    key("elevenlabs-key", "sk_", Hex, 48, 48, Random),
    key("resend-key", "re_", Base64Url, 24, 48, Jumbled),
    key("fireworks-key", "fw_", Base62, 20, 48, Jumbled),
    key("firecrawl-key", "fc-", Hex, 32, 32, Random),
    key("e2b-key", "e2b_", Hex, 40, 40, Random),
    key("jina-key", "jina_", Base64Url, 40, 80, Jumbled),
    key("voyage-key", "pa-", Base64Url, 40, 50, Jumbled),
    key("neon-key", "napi_", Base62, 40, 80, Random),
    key("render-key", "rnd_", Base62, 24, 40, Jumbled),
    key("cursor-key", "key_", Hex, 64, 64, Random),
    key("cursor-key", "crsr_", Hex, 64, 64, Random),
    // Known by their shape.
    shape("private-key", &["-----begin "], private_key, &["-----BEGIN RSA PRIVATE KEY-----\n‹{a64}›\n-----END RSA PRIVATE KEY-----"]),
    also("ssh-private-key", &["-----BEGIN OPENSSH PRIVATE KEY-----\n‹{a64}›\n-----END OPENSSH PRIVATE KEY-----"]),
    also("pgp-private-key", &["-----BEGIN PGP PRIVATE KEY BLOCK-----\n‹{a64}›\n-----END PGP PRIVATE KEY BLOCK-----"]),
    shape("putty-private-key", &["private-lines:"], putty_key, &["Private-Lines: 2\n‹{a64}\n{a40}›\nPrivate-MAC: 0"]),
    shape("jwt", &["eyj"], jwt, &["eyJ{a33}.eyJ{a40}.{a43}"]),
    shape("sendgrid-key", &["sg."], sendgrid_key, &["SG.{a22}.{a43}"]),
    shape("telegram-bot-token", &[":aa"], telegram_token, &["{d9}:AA{a33}"]),
    shape("slack-webhook", &["hooks.slack.com/services/"], slack_webhook, &["https://hooks.slack.com/services/‹T{a10}/B{a10}/{a24}›"]),
    shape("discord-webhook", &["/api/webhooks/"], discord_webhook, &["https://discord.com/api/webhooks/‹{d18}/{a68}›"]),
    shape("teams-webhook", &["webhook.office.com/webhookb2/"], teams_webhook, &["https://acme.webhook.office.com/webhookb2/‹{h36}@{h36}/IncomingWebhook/{h32}›"]),
    shape("terraform-token", &[".atlasv1."], terraform_token, &["{a14}.atlasv1.{a67}"]),
    shape("mailchimp-key", &["-us"], mailchimp_key, &["{h32}-us12"]),
    shape("azure-storage-key", &["accountkey=", "sharedaccesskey="], azure_storage_key, &["AccountName=acme;AccountKey=‹{a86}==›;"]),
    shape("azure-signature", &["sig="], azure_signature, &["https://acme.blob.core.windows.net/c?sv=2022-11-02&sig=‹{a43}%3D›"]),
    shape("azure-client-secret", &["8q~"], azure_client_secret, &["{a3}8Q~{a34}"]),
    shape("azure-devops-token", &["azdo"], azure_devops_token, &["{a76}AZDO{a4}"]),
    shape("bearer-token", &["bearer "], bearer_token, &["Authorization: Bearer ‹{a40}›"]),
    shape("basic-credentials", &["basic "], basic_credentials, &["Authorization: Basic ‹{a28}›"]),
    shape("okta-token", &["ssws "], okta_token, &["Authorization: SSWS ‹{a42}›"]),
    shape("airtable-token", &["pat"], airtable_token, &["pat{a14}.{h64}"]),
    shape("twitter-bearer-token", &["aaaaaaaaaaaaaaaaaaaa"], twitter_bearer, &["AAAAAAAAAAAAAAAAAAAAAA{a30}%3D{a50}"]),
    shape("netrc-password", &[" password "], netrc_password, &["machine git.example login ana password ‹{p12}›"]),
    shape("discord-token", &["."], discord_token, &["MTIzNDU2Nzg5MDEyMzQ1Njc4.{a6}.{a38}", "MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.{a6}.{a38}", "MTA{a23}.G{a5}.{a38}"]),
    shape("jwk-private-key", &["\"d\"", "\"k\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\""], jwk_secret, &["{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"‹{a43}›\",\"use\":\"sig\"}", "{\"k\": \"‹{a43}›\", \"kty\": \"oct\"}"]),
    shape("url-password", &["://"], urls::match_at, &["https://ana:‹{p14}›@git.example/repo"]),
    also("url-token", &["https://‹{a40}›@git.acme.io/repo.git", "https://‹{a40}›:x-oauth-basic@git.acme.io/repo.git"]),
    also("connection-string", &["postgres://app:‹{p14}›@db.example/app", "postgres://scott:‹{a6}›@db.acme.io/shop"]),
    shape("url-password", &["@"], urls::match_address, &["sftp to ana:‹Zq4{a7}›@files.acme.io"]),
    shape("connection-string", &[urls::ORACLE], urls::match_oracle, &["jdbc:oracle:thin:scott/‹{p10}›@//db.acme.io:1521/shop"]),

    // Known by the flag of a command.
    flag("command-password", &[" -u", " --user", " --proxy-user"], &["curl"], UserAnd, &["curl -u ana:‹{p10}› https://api.acme.io"]),
    flag("command-password", &[" -a"], &["http", "https", "xh"], UserAnd, &["xh -a ana:‹{p10}› api.acme.io"]),
    flag("command-password", &[" -p"], &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mycli"], Attached, &["mysql -u root -p‹{p10}› shop"]),
    flag("command-password", &[" -p"], &["sshpass", "mongo", "mongosh", "mongodump", "login"], Any, &["sshpass -p '‹{p10}›' ssh ana@host"]),
    flag("command-password", &[" -a"], &["redis-cli"], Any, &["redis-cli -h cache -a ‹{p10}› ping"]),

    // Known by the last words of the name that they are given to.
    given("password", &["password", "passwd", "passphrase", "pwd"], Chosen, &["DB_PASSWORD=‹{p12}›", "DB_PASSWORD=‹hunter{d1}secret›", "password: ‹winter{d4}sun›"]),
    given("password", &["pass", "pw"], Nickname, &["DB_PASS=‹{p12}›", "REDIS_PW=‹{p12}›"]),
    // The same word as people write it elsewhere.
    given("password", &["passwort", "kennwort", "mot de passe", "mot_de_passe", "contraseña", "CONTRASEÑA", "contrasena", "senha", "wachtwoord", "hasło", "heslo", "lösenord", "пароль", "Пароль", "ПАРОЛЬ", "密码", "パスワード", "비밀번호"], Chosen, &["Passwort: ‹{p12}›", "contraseña: ‹{p12}›", "mot de passe : ‹{p12}›", "пароль: ‹{p12}›"]),
    given("aws-secret-key", &["aws_secret_access_key", "secret_access_key", "secretaccesskey", "secret-access-key", "aws_secret_key", "awssecretkey"], Generated, &["aws_secret_access_key=‹{s40}›", "{\"awsSecretAccessKey\": \"‹{s40}›\"}", "awsSecretAccessKey: ‹/{s39}›"]),
    given("aws-session-token", &["aws_session_token"], Generated, &["AWS_SESSION_TOKEN=‹{a120}›"]),
    given("azure-storage-key", &["storage_key", "storagekey", "storage-key", "storage_account_key", "storageaccountkey"], Generated, &["AZURE_STORAGE_KEY=‹{s86}==›", "{\"azureStorageKey\": \"‹{s86}==›\"}"]),
    given("client-secret", &["client_secret", "clientsecret", "client-secret"], Generated, &["client_secret=‹{a32}›", "client_secret: ‹{h8}-{h4}-4{h3}-8{h3}-{h12}›"]),
    given("api-key", &["api_key", "apikey", "api-key"], Generated, &["API_KEY=‹{a32}›", "HEROKU_API_KEY=‹{h8}-{h4}-4{h3}-8{h3}-{h12}›"]),
    given("access-key", &["access_key", "accesskey", "access-key"], Generated, &["access_key=‹{a32}›"]),
    given("secret-key", &["secret_key", "secretkey", "secret-key", "private_key", "privatekey", "private-key", "presharedkey", "encryption_key", "encryptionkey", "signing_key", "signingkey", "master_key", "masterkey", "auth_key", "authkey", "account_key"], Generated, &["SECRET_KEY=‹{a50}›", "PrivateKey = ‹{a43}=›"]),
    given("token", &["auth_token", "authtoken", "token", "_pat"], Generated, &["auth_token=‹{a32}›", "tool --token ‹{a32}› run"]),
    given("secret", &["secret", "credential"], Generated, &["SESSION_SECRET=‹{a32}›"]),
    given("docker-auth", &["auth"], Login, &["{\"auths\":{\"r.acme.io\":{\"auth\":\"‹{login12}›\"}}}"]),
    given("cookie", &["cookie"], Cookies, &["Cookie: ‹theme=dark; sid={a32}›", "Set-Cookie: ‹session={a32}; Path=/›"]),
];
