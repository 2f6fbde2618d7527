import type { AvailableCommand, SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk'
import type { RunMode } from '../api/run.ts'
import type { PromptList } from '../api/sessions.ts'
import { visible } from '../terminal/visible.ts'

/** The modes of a session, as an editor lists them. The first one is that of a new session. */
const modes: readonly { readonly id: RunMode; readonly name: string; readonly description: string }[] = [
  { id: 'agent', name: 'Agent', description: 'Changes files and runs commands. Asks before each of them.' },
  {
    id: 'plan',
    name: 'Plan',
    description: 'Reads, and asks you to accept its plan. Then it works as the agent.',
  },
  { id: 'chat', name: 'Chat', description: 'Answers questions. Can read the files of the folder, and change nothing.' },
]

/** What a person has chosen for the next messages of a session. */
export interface Choices {
  readonly mode: RunMode
  /** Undefined: that of the configuration. */
  readonly model: string | undefined
}

export interface ModelName {
  readonly id: string
  readonly name: string
}

export const firstChoices: Choices = { mode: 'agent', model: undefined }

/** The value of the option for the model of the configuration. */
const defaultModel = 'default'

/** Editors that know options use them alone, so that both say the same. */
export function describeChoices(
  { mode, model }: Choices,
  models: readonly ModelName[],
): { readonly modes: SessionModeState; readonly configOptions: SessionConfigOption[] } {
  const modeOption: SessionConfigOption = {
    type: 'select',
    id: 'mode',
    name: 'Mode',
    category: 'mode',
    currentValue: mode,
    options: modes.map(({ id, name, description }) => ({ value: id, name, description })),
  }
  const modelOption: SessionConfigOption = {
    type: 'select',
    id: 'model',
    name: 'Model',
    category: 'model',
    currentValue: model ?? defaultModel,
    options: [
      { value: defaultModel, name: 'Default', description: 'The model of the configuration, or the best one.' },
      ...models.map(({ id, name }) => ({ value: id, name })),
    ],
  }
  return {
    modes: { currentModeId: mode, availableModes: [...modes] },
    configOptions: models.length === 0 ? [modeOption] : [modeOption, modelOption],
  }
}

/** Describes the prompts with which a message can begin. Editors put `/` before the name. */
export function describeCommands(prompts: PromptList['prompts']): readonly AvailableCommand[] {
  return prompts.map(({ server, name, description = '', arguments: given = [] }) => {
    const hint = given.map((each) => (each.required === true ? each.name : `[${each.name}]`)).join(' ')
    return { name: `${server}:${name}`, description: visible(description), ...(hint !== '' && { input: { hint } }) }
  })
}

/** Returns undefined if there is no such option or value. */
export function choose(
  before: Choices,
  models: readonly ModelName[],
  option: string,
  value: string | boolean,
): Choices | undefined {
  const mode = option === 'mode' ? modes.find(({ id }) => id === value)?.id : undefined
  if (mode !== undefined) return { ...before, mode }
  if (option !== 'model') return undefined
  if (value === defaultModel) return { ...before, model: undefined }
  const model = models.find(({ id }) => id === value)?.id
  return model === undefined ? undefined : { ...before, model }
}
