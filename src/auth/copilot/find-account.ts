import type { CopilotRecord } from './wire.ts'

/** The name of an account in commands and in the configuration: its login, with its host unless that is github.com. */
export function accountName({ label, metadata }: CopilotRecord): string {
  const host = accountHost(metadata.github_base_url)
  return host === 'github.com' ? label : `${label}@${host}`
}

export function accountHost(githubBaseUrl: string | undefined): string {
  return (URL.parse(githubBaseUrl ?? '') ?? { hostname: 'github.com' }).hostname
}

/** The accounts that a name means, in any case: those of this name, else of this login on any host, or the record of this id. */
export function findAccounts(records: readonly CopilotRecord[], name: string): readonly CopilotRecord[] {
  const wanted = name.trim().toLowerCase()
  const exact = records.filter((record) =>
    [accountName(record), record.id].some((each) => each.toLowerCase() === wanted),
  )
  return exact.length > 0 ? exact : records.filter(({ label }) => label.toLowerCase() === wanted)
}

/** The account of a name. Undefined also if several fit: requests must not go out as a wrong one. */
export function findAccount(records: readonly CopilotRecord[], name: string): CopilotRecord | undefined {
  const found = findAccounts(records, name)
  return found.length === 1 ? found[0] : undefined
}
