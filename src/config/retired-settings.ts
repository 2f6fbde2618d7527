/** A setting of an earlier version. */
export interface RetiredSetting {
  /** Dotted. A section stands for all settings that it had. */
  readonly key: string
  /** A sentence: what replaces the setting, or what holds now. */
  readonly instead: string
}

/** Settings that no longer exist. A file that still has one is valid, so that an upgrade does not stop a daemon. */
export const retiredSettings: readonly RetiredSetting[] = [
  { key: 'server.max-connections', instead: 'The limit is 4096 connections.' },
  { key: 'copilot.completions-url', instead: 'Your login names the host for code completion.' },
  { key: 'copilot.completions-engine', instead: 'It is gpt-41-copilot, unless your account lists other engines.' },
  {
    key: 'copilot.client-ids',
    instead: 'Set ids of your own in copilot.headers: vscode-sessionid, vscode-machineid and editor-device-id.',
  },
  { key: 'codex.client-id', instead: 'It is the public id of Codex CLI.' },
  { key: 'codex.originator', instead: 'It is copilot-proxy.' },
  { key: 'codex.responses-lite', instead: 'A model that is not found is always requested in the lite form too.' },
  { key: 'codex.timeouts', instead: 'Use copilot.timeouts, which now hold for requests to OpenAI too.' },
  {
    key: 'responses',
    instead: 'WebSocket is always offered. For HTTP, set supports_websockets to false in the config.toml of Codex CLI.',
  },
  { key: 'agent.max-actions', instead: 'The limit is 100 changes and commands. Use agent.max-steps for a lower one.' },
  { key: 'gateway.trusted-providers', instead: 'It is gateway.trusted-programs now.' },
  { key: 'sessions.keep-runs', instead: 'The limit is 1000 runs of each workspace. Use sessions.keep-days.' },
]

/** The retired setting that a dotted key names, itself or in its section. */
export function retiredSetting(key: string): RetiredSetting | undefined {
  return retiredSettings.find((retired) => key === retired.key || key.startsWith(`${retired.key}.`))
}

/** One clause for a person who still has the setting. */
export function retiredDetail({ instead }: RetiredSetting): string {
  return `this setting no longer exists and has no effect. ${instead}`
}
