# syntax=docker/dockerfile:1
# The server as a container: a static binary on an empty image, not root.
#
#   docker build -t sw-postgres-mcp .
#   docker run -i --rm -e DATABASE_URL_READONLY -e DATABASE_URL_WRITER \
#     -v /abs/path/config.json:/config.json:ro sw-postgres-mcp
#
# It speaks MCP on stdin and stdout, so -i and no -t. The approval page listens on 127.0.0.1 of the
# container and nowhere else: to use it run with --network host (Linux), else writes that need a
# person cannot be approved. Running the binary itself is simpler.

FROM golang:1.26-alpine AS build
# gcc and musl: Postgres' own parser is C; musl links statically without surprises
RUN apk add --no-cache gcc musl-dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=1 go build -trimpath -tags netgo,osusergo \
      -ldflags '-s -w -linkmode external -extldflags "-static"' \
      -o /out/sw-postgres-mcp ./cmd/sw-postgres-mcp

FROM scratch
# the certificates are for sslmode=verify-full to a hosted Postgres
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/sw-postgres-mcp /sw-postgres-mcp
COPY LICENSE /LICENSE
LABEL io.modelcontextprotocol.server.name="io.github.jpka/sw-postgres-mcp"
ENV SW_POSTGRES_CONFIG=/config.json
USER 65532:65532
ENTRYPOINT ["/sw-postgres-mcp"]
