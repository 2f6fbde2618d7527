import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../errors.ts'
import type { Executor } from '../../executors/executor.ts'
import { enableModel, parseModelPolicies } from '../../models/model-policy.ts'
import type { ModelPolicy } from '../../models/model-policy.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, EnableFlags, ExitCode } from '../shared/command.ts'
import { confirm } from '../shared/confirm.ts'
import { requireLogin } from '../shared/logins.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { askRoute, openDaemonView } from '../shared/view.ts'
import { settingsPage } from './settings-page.ts'

const byAdministrator = `If an organization pays for Copilot, its administrator enables models: ${settingsPage}`

/** Accepts the terms of a Copilot model for the account in use, after asking. */
export async function modelsEnable(context: CommandContext, flags: EnableFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  await requireLogin(context, settings)
  const { openProviders } = await import('../shared/local-view.ts')
  const providers = await openProviders(context, withoutCodex(settings))
  const executor = providers.accessOf(undefined).executorOf('copilot')
  try {
    const model = await findModel(context, executor, flags.id)
    const wasOpen = model.state === undefined || model.state === 'enabled'
    if (!wasOpen) {
      if (!(await wantsModel(context, flags, model))) return exitCode.done
      await enable(context, executor, model.id)
      await refreshDaemon(context, settings)
    }
    if (flags.json) writeJson(context, { model: model.id, changed: !wasOpen })
    else {
      const done = wasOpen ? 'is enabled already' : 'is enabled now'
      context.stdout.write(visibleLines(`The model ${model.id} ${done}.\n`))
    }
    return exitCode.done
  } catch (error) {
    context.signal.throwIfAborted()
    if (!(error instanceof Fault)) throw error
    throw new CommandFailure(exitCode.failed, toOpenAiError(error.error, '').error.message, { cause: error })
  } finally {
    await providers.close()
  }
}

/** Its login is not touched. */
function withoutCodex({ config, ...settings }: LoadedSettings): LoadedSettings {
  return { ...settings, config: { ...config, codex: { ...config.codex, enabled: false } } }
}

/** @throws CommandFailure `usage` for a model that the account does not list; Fault */
async function findModel(
  { signal }: CommandContext,
  executor: Pick<Executor, 'listModels'>,
  name: string,
): Promise<ModelPolicy> {
  const policies = parseModelPolicies(await executor.listModels({ signal }))
  const wanted = name.replace(/^copilot\//, '').toLowerCase()
  const found = policies.find(({ id }) => id.toLowerCase() === wanted)
  if (found !== undefined) return found
  const closed = policies.filter(({ state = 'enabled' }) => state !== 'enabled').map(({ id }) => id)
  const advice =
    closed.length === 0 ? 'All models of your account are enabled.' : `Disabled models: ${closed.join(', ')}.`
  throw new CommandFailure(exitCode.usage, `Copilot does not list the model ${JSON.stringify(name)} for you. ${advice}`)
}

/** @throws CommandFailure `usage` if nobody can answer */
async function wantsModel(context: CommandContext, { yes }: EnableFlags, { id, terms }: ModelPolicy): Promise<boolean> {
  const { stderr } = context
  if (terms !== undefined) stderr.write(visibleLines(`GitHub's terms of ${id}:\n${terms}\n`))
  if (yes) return true
  if (!context.interactive) {
    throw new CommandFailure(exitCode.usage, `To accept the terms without a question, add --yes.`)
  }
  const wants = await confirm(context, `Enable ${id} for your account?`)
  if (!wants) stderr.write('Nothing changed.\n')
  return wants
}

/** @throws CommandFailure `failed` with GitHub's reason */
async function enable({ signal }: CommandContext, executor: Pick<Executor, 'json'>, id: string): Promise<void> {
  try {
    await enableModel(executor, id, { requestId: randomUUID(), signal })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Fault) || error.error.kind !== 'upstream_status') throw error
    throw new CommandFailure(
      exitCode.failed,
      `GitHub did not enable ${id}: ${toOpenAiError(error.error, '').error.message} ${byAdministrator}`,
      { cause: error },
    )
  }
}

/** A running daemon would fetch the list within ten minutes. */
async function refreshDaemon(context: CommandContext, settings: LoadedSettings): Promise<void> {
  const daemon = await openDaemonView(context, settings)
  if (daemon?.ownerToken === undefined) return
  const options = { method: 'POST', timeoutMs: 30_000 } as const
  await askRoute(context, daemon.address, '/models/refresh', z.undefined(), options).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error
  })
}
