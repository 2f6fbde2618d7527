/** For one request, answer and all: shorter than when somebody waits for the answer itself. Ms. */
export const requestTimeoutMs = 10_000

/** Less than that, so that a host that cannot be reached is told apart from one that is slow. Ms. */
export const connectTimeoutMs = 6_000
