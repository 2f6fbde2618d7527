import { codexRecordKind } from '../../auth/codex/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { connectCodex } from '../../executors/codex-connection.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import type { Logger } from '../../logging/logger.ts'
import { recordPlace, silentLog } from './accounts.ts'
import { findCodexHome } from './codex-login.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

/** As a daemon connects, including the lock: a refresh token must be redeemed where requests redeem it. */
export function openCodexConnection(
  context: CommandContext,
  settings: LoadedSettings,
  log: Logger,
): CodexConnection | undefined {
  const { env, fetch, now, version, beforeExit, secrets } = context
  return connectCodex(
    {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), silentLog),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      log,
      noteSecrets: secrets.note,
      redact: secrets.redact,
      onModelsChanged: () => {},
      fetch,
      now,
      env,
      version,
    },
    settings.config,
  )
}
