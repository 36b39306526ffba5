// POST /graphql: hands the query over to a GraphQL server that was made for AWS.
const { ApolloServer, gql } = require("apollo-server-lambda");
const { http } = require("@architect/functions");

const typeDefs = gql`
  type Query {
    hello: String
  }
`;

const resolvers = {
  Query: { hello: () => "Hello from a function!" },
};

const graphql = new ApolloServer({ typeDefs, resolvers }).createHandler();

exports.handler = function handler(event, context, callback) {
  const body = http.helpers.bodyParser(event);
  // The server reads JSON text, not what the parser made of it.
  event.body = JSON.stringify(body);
  graphql(event, context, callback);
};
