/** The public OAuth client of Codex CLI. OpenAI registers no others for ChatGPT logins (docs/codex-wire.md, "Login"). */
export const codexClientId = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** The name that this program gives ChatGPT: OpenAI asks programs to send their own (docs/codex-wire.md). */
export const codexOriginator = 'copilot-proxy'
