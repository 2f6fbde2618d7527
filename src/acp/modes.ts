import type { SessionModeState } from '@agentclientprotocol/sdk'
import type { RunMode } from '../api/run.ts'

/** The modes of a session, as an editor lists them. The first one is that of a new session. */
const modes: readonly { readonly id: RunMode; readonly name: string; readonly description: string }[] = [
  { id: 'agent', name: 'Agent', description: 'Changes files and runs commands. Asks before each of them.' },
  { id: 'chat', name: 'Chat', description: 'Answers questions. Can read the files of the folder, and change nothing.' },
]

export const firstMode: RunMode = 'agent'

export function modeState(currentModeId: RunMode): SessionModeState {
  return { currentModeId, availableModes: [...modes] }
}

/** Returns undefined if there is no such mode. */
export function findMode(id: string): RunMode | undefined {
  return modes.find((mode) => mode.id === id)?.id
}
