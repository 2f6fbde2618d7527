import { chooseModels } from '../client-settings/choose-models.ts'
import { clients } from '../client-settings/clients.ts'
import type { ClientId } from '../client-settings/clients.ts'
import type { Target } from '../client-settings/target.ts'
import { visibleLines } from '../terminal/visible.ts'
import type { CallerKey } from './caller-key.ts'
import { fetchClientModel, fetchClientModels } from './client-models.ts'
import type { CommandContext } from './context.ts'
import type { RunningDaemon } from './ensure-daemon.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/**
 * What the client is pointed at, with models of the daemon's list.
 * @param wanted a model by any of its names; undefined: the best for this client
 * @throws CommandFailure
 */
export async function pickTarget(
  context: CommandContext,
  client: ClientId,
  { url, providers }: RunningDaemon,
  { key, isAsked }: CallerKey,
  wanted: string | undefined,
): Promise<Target> {
  const address = { url, key }
  const models = await fetchClientModels(context, address, providers)
  const main = wanted === undefined ? undefined : await fetchClientModel(context, address, wanted)
  const chosen = chooseModels(client, models, main)
  if (chosen === undefined) throw new CommandFailure(exitCode.failed, 'copilot-proxy offers no chat model.')
  const { id, tools } = chosen.main
  if (!tools) {
    context.stderr.write(
      visibleLines(`Note: ${id} calls no tools, without which ${clients[client].name} does little.\n`),
    )
  }
  // A hidden one is not in the list.
  const isListed = models.some((model) => model.id === id)
  return { url, key, isKeyAsked: isAsked, chosen, models: isListed ? models : [...models, chosen.main] }
}
