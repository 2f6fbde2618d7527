/** A route that answers prompts. */
export type InferencePath = '/chat/completions' | '/responses' | '/v1/messages'
