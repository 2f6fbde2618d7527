import { CommandFailure, exitCode } from './exit-code.ts'

const nothingStored = 'Nothing was stored.'

/** @param sentences what went wrong; what follows says that nothing came of the login */
export function loginFailed(sentences: string, separator: ' ' | '\n' = ' '): CommandFailure {
  return new CommandFailure(exitCode.failed, `${sentences}${separator}${nothingStored}`)
}

export function loginInterrupted(): CommandFailure {
  return new CommandFailure(exitCode.interrupted, `Interrupted. ${nothingStored}`)
}
