import { install } from 'undici'

// The program's own first act (src/main.ts): the global fetch becomes undici's, so that JSON exchanges accept its Agents.
install()
