export const knownSchemaFailures: readonly string[] = []
export const knownHistoryFailures: readonly string[] = []
export const knownFileFailures: readonly string[] = []
export const knownToolFailures: readonly string[] = []
