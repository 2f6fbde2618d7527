import { toCodexRecord, codexRecordKind } from '../auth/codex/record.ts'
import { copilotRecordKind } from '../auth/copilot/record.ts'
import { createMemoryRecordStore } from '../auth/records/memory-record-store.ts'
import type { Config } from '../config/schema.ts'
import { parseCodexModels } from '../models/codex-model.ts'
import type { Model, ModelListing } from '../models/model.ts'
import { startDemoCodex } from '../demo/codex/server.ts'
import { startDemoServer } from '../demo/server.ts'

/** Starts the simulated Copilot and Codex on loopback ports; `redirect` points a configuration at them. */
export async function startDemo() {
  // Slow enough for a person to see the text stream.
  const pace = { eventDelayMs: 15 }
  const [copilot, codex] = await Promise.all([startDemoServer(pace), startDemoCodex(pace)])
  const login = toCodexRecord(codex.login(), { nowMs: Date.now(), issuer: codex.issuer })
  return {
    githubToken: copilot.tokens.issueGithub(),
    stores: {
      copilot: createMemoryRecordStore(copilotRecordKind, []),
      codex: createMemoryRecordStore(codexRecordKind, login === undefined ? [] : [login]),
    },
    redirect: (config: Config): Config => ({
      ...config,
      copilotOauth: { ...config.copilotOauth, githubBaseUrl: copilot.url, githubApiBaseUrl: copilot.url },
      copilot: { ...config.copilot, baseUrl: copilot.url },
      codex: {
        ...config.codex,
        apiKey: '',
        useCliLogin: false,
        baseUrl: codex.baseUrl,
        apiBaseUrl: codex.apiBaseUrl,
        issuer: codex.issuer,
      },
    }),
    async close() {
      await Promise.all([copilot.close(), codex.close()])
    },
  }
}

/** Codex's model list names no vendor, so models of the demo get one that says they are simulated. */
export function parseDemoCodexModels(reply: unknown): ModelListing | undefined {
  const listing = parseCodexModels(reply)
  return listing && { ...listing, models: listing.models.map(ownedByDemo) }
}

function ownedByDemo(model: Model): Model {
  return { ...model, vendor: 'Simulated OpenAI (demo)' }
}
