import { readdirSync, readFileSync } from 'node:fs'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { claudeCodeBetas } from '../messages/upstream-helpers.ts'

const fixtures = new URL('../../fixtures/', import.meta.url)

export const callers: readonly UpstreamDialectId[] = ['chat', 'messages', 'responses']

export interface RequestFixture {
  readonly caller: UpstreamDialectId
  readonly name: string
  /** The bytes of the caller. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Requests of Claude Code, and of others that use what a beta adds. */
const withBetas = /^(?:claude-code-.*|tool-search|context-editing)$/

function readFolder(caller: UpstreamDialectId, folder: string): readonly RequestFixture[] {
  return readdirSync(new URL(folder, fixtures))
    .toSorted()
    .map((file) => {
      const name = file.replace(/\.json$/, '')
      const headers = withBetas.test(name) ? { 'anthropic-beta': claudeCodeBetas.join(',') } : undefined
      return { caller, name, body: readFileSync(new URL(`${folder}/${file}`, fixtures), 'utf8'), headers }
    })
}

/** Bodies of clients, and bodies that show one subject each. */
export const requestFixtures: readonly RequestFixture[] = callers.flatMap((caller) =>
  [`${caller}-requests`, `request-parts/${caller}`].flatMap((folder) => readFolder(caller, folder)),
)
